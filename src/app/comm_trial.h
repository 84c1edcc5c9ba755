// What `eave bench-comm` times: operations between ranks on crafted numbers, each result of which is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

// One operation on `count` values, over and over. All ranks call the same functions in the same order.
class CommTrial {
 public:
  virtual ~CommTrial() = default;
  virtual void prepare(int iteration) = 0;  // new numbers. Not timed; nobody is in run() meanwhile
  virtual void run() = 0;                   // timed: until this rank's results are there
  virtual std::int64_t count_wrong() = 0;   // collective; of this rank's results, all of which are looked at
  virtual void finish() {}                  // collective
};

struct CommOperation {
  std::string name, summary;
  std::string reduction;  // as nccl-tests call it
  std::unique_ptr<CommTrial> (*make)(Transport& transport, Device& device, std::size_t count);
};

// allreduce, easgd, request. Each sends 2(p−1)/p of its bytes from every rank.
const std::vector<CommOperation>& comm_operations();

struct CommTiming {
  double seconds = 0;      // the median iteration, each as long as its slowest rank
  std::int64_t wrong = 0;  // results of all ranks and iterations, warm-up included
};

// Collective. All ranks begin each iteration together; the first `warmup` are not timed, but checked.
CommTiming time_trial(Transport& transport, CommTrial& trial, int warmup, int iterations);

}  // namespace eave
