// What eave.h calls eave_averager, for the sources that implement it.
#pragma once

#include <functional>
#include <optional>

#include "c/averager.h"
#include "c/call_watch.h"

struct eave_averager {
  eave::Averager averager;
};

namespace eave {

// Does the work in the session's thread; an exception becomes a code and the message of eave_error. `call`: set if all
// ranks do this work in the same order. Throws nothing.
int call_in_session(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work);
// The same for work that needs no session.
int call_here(const std::function<void()>& work);

}  // namespace eave
