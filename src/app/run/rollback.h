// --on-nonfinite rollback: if the loss or the gradient is not finite, the run goes back to its newest checkpoint.
#pragma once

#include <cstdint>

#include "eave/check.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// Throws Error(kUsage) if the run keeps no checkpoints.
void check_rollback(const OptionValues& values);

class Rollback {
 public:
  // Both arguments must outlive this object.
  Rollback(Transport& transport, const OptionValues& values);

  // Collective, with the error that ended the training on all ranks. Returns whether to train again, with values();
  // rank 0 then prints so. Throws AgreedError(kDiverged) if there is no checkpoint to go back to, or none newer than
  // the last time.
  bool goes_back(const AgreedError& error);
  const OptionValues& values() const { return values_; }
  std::int64_t times() const { return times_; }

 private:
  Transport& transport_;
  OptionValues values_;
  const bool is_asked_;
  std::int64_t step_ = -1;  // of the checkpoint that it last went back to
  std::int64_t times_ = 0;
};

}  // namespace eave
