// Names the plug-in in the message if its method fails, because eave and the machine are not at fault then.
#pragma once

#include <functional>
#include <memory>

#include "communicator/support/plugin.h"
#include "eave/communicator.h"

namespace eave {

// Returns a communicator that makes the calls of the one that `make` returns, or nullptr if that is nullptr. If `make`
// or one of its calls throws Error(kInternal), or an exception that is no Error, the message names the plug-in and the
// call. The same holds if a call returns what plugin_checks.h refuses. Errors of the system pass through. `plugin` is
// copied. `ranks`: the number of ranks of the job.
std::unique_ptr<Communicator> with_named_faults(const Plugin& plugin, int ranks,
                                                const std::function<std::unique_ptr<Communicator>()>& make);

}  // namespace eave
