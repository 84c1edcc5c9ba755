// Tells the other ranks with which code this process ends.
#pragma once

#include "eave/check.h"
#include "eave/transport.h"

namespace eave {

// A control channel of ranks without a launcher that would end them all.
class TellsEnd {
 public:
  virtual ~TellsEnd() = default;
  virtual void tell_end(ExitCode code) noexcept = 0;
};

// Call this when this process is about to end with this code, without Transport::abort. `tcp` tells the other ranks, so
// that they end with the same code and do not report this rank as lost. That takes at most 1.3 s. The other transports
// leave it to the launcher.
inline void tell_end(ControlChannel& channel, ExitCode code) noexcept {
  if (auto* const teller = dynamic_cast<TellsEnd*>(&channel)) teller->tell_end(code);
}

}  // namespace eave
