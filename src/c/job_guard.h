// The guard of a rank in a loop that is not eave's: what `eave train` does for its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "c/call_watch.h"
#include "eave/transport.h"
#include "guard/guard.h"
#include "guard/watchdog.h"
#include "guard/whereabouts.h"

namespace eave {

class JobGuard {
 public:
  // Collective, with the bare transport, which outlives it. Without a control channel nobody is watched.
  // `generation`: how many guards this process had before.
  JobGuard(Transport& transport, const WatchdogLimit& limit, std::int64_t generation);

  // The thread that calls the transport.
  void enter(const InterfaceCall& call);
  void leave(bool counts);
  // A call has failed on this rank alone. Does not return if that is because ranks are out of step: a message says
  // where they are.
  void explain();

 private:
  Whereabouts whereabouts_;
  std::optional<Watchdog> watchdog_;
  std::optional<CallWatch> calls_;
  bool is_counted_ = false;  // the call under way
  std::optional<Guard> guard_;
};

// Throws Error(kUsage) for a time that is neither 0 nor 1 s and more. `source`: who gave it.
WatchdogLimit limit_from(const std::string& text, const std::string& source);

}  // namespace eave
