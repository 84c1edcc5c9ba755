// The blocking half of a transport: what a communication thread calls.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

// Operations between ranks that return when they are done, in the meaning of Transport. One thread calls them, except
// abort, which any thread may call while another is in an operation. Never called with a single rank.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;
  virtual bool reaches(DeviceKind device) const = 0;

  virtual void all_reduce_sum(Slice values) = 0;
  virtual void broadcast(Slice values, int root) = 0;
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  virtual void abort(ExitCode code) noexcept = 0;
};

}  // namespace eave
