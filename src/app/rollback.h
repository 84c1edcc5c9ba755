// --on-nonfinite rollback: a run whose loss or gradient was not finite goes on from its newest checkpoint.
#pragma once

#include <cstdint>

#include "eave/check.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// Throws Error(kUsage) where there will be no checkpoints.
void check_rollback(const OptionValues& values);

class Rollback {
 public:
  // Both outlive it.
  Rollback(Transport& transport, const OptionValues& values);

  // Collective, with what has ended the training on all ranks: whether to train again, with values(). Rank 0 says so.
  // Throws AgreedError(kDiverged) where there is no checkpoint to go back to, or none newer than the last time.
  bool goes_back(const AgreedError& error);
  const OptionValues& values() const { return values_; }
  std::int64_t times() const { return times_; }

 private:
  Transport& transport_;
  OptionValues values_;
  const bool is_asked_;
  std::int64_t step_ = -1;  // of the checkpoint that it went back to
  std::int64_t times_ = 0;
};

}  // namespace eave
