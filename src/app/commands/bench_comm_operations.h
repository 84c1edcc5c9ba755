// The operations between ranks that `eave bench-comm` times. Their inputs are chosen so that each result is known
// exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

// One operation on `count` values, repeated. All ranks must call the same functions in the same order.
class CommTrial {
 public:
  virtual ~CommTrial() = default;
  virtual void prepare(int iteration) = 0;  // sets new inputs; not timed, and no rank is in run() meanwhile
  virtual void run() = 0;                   // timed: returns when this rank's results are there
  // Collective. Checks all of this rank's results, and returns how many are wrong.
  virtual std::int64_t count_wrong() = 0;
  virtual void finish() {}  // collective
};

struct CommOperation {
  std::string name, summary;
  std::string reduction;  // in the words of nccl-tests
  std::unique_ptr<CommTrial> (*make)(Transport& transport, Device& device, std::size_t count);
};

// allreduce, easgd, request. In each, every rank sends 2(p−1)/p times the bytes of its values.
const std::vector<CommOperation>& comm_operations();

struct CommTiming {
  double seconds = 0;      // median over iterations; an iteration takes as long as its slowest rank
  std::int64_t wrong = 0;  // wrong results of all ranks and iterations, including warm-up
};

// Collective. All ranks begin each iteration together. The first `warmup` iterations are checked but not timed.
CommTiming time_trial(Transport& transport, CommTrial& trial, int warmup, int iterations);

}  // namespace eave
