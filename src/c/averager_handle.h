// The type that eave.h calls eave_averager, for the sources that implement it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "c/averager.h"
#include "c/call_watch.h"

struct eave_averager {
  eave::Averager averager;
  std::string bytes = {};  // those that the last function for saving handed out
};

namespace eave {

// The handles that a program has from the library and may still use. Any thread may call it. It cannot tell a handle
// that was freed from a later one at the same address.
template <class Handle>
class OpenHandles {
 public:
  void add(Handle* handle) {
    const std::lock_guard lock(mutex_);
    open_.insert(handle);
  }
  void remove(Handle* handle) {
    const std::lock_guard lock(mutex_);
    open_.erase(handle);
  }
  bool contains(const Handle* handle) const {
    const std::lock_guard lock(mutex_);
    return open_.contains(const_cast<Handle*>(handle));
  }
  std::int64_t count() const {
    const std::lock_guard lock(mutex_);
    return std::ssize(open_);
  }
  // Until `visit` returns, no handle can be removed.
  template <class Visit>
  void visit_each(Visit visit) const {
    const std::lock_guard lock(mutex_);
    for (Handle* handle : open_) visit(*handle);
  }
  std::vector<Handle*> all() const {
    const std::lock_guard lock(mutex_);
    return {open_.begin(), open_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::set<Handle*> open_;
};

// Whether a process can end with this code and have failed.
inline bool is_code_of_failure(int code) { return code >= 1 && code <= 255; }

// Does the work in the session's thread; an exception becomes a code and the message of eave_error. `call`: set if all
// ranks do this work in the same order. Throws nothing.
int call_in_session(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work);
// The same for a function of eave.h that all ranks call with an averager. Meets the averagers' first steps before it.
int call_on_averager(InterfaceCall::Function function, eave_averager* averager,
                     const std::function<void(Averager&)>& work);
// The same for work that needs no session.
int call_here(const std::function<void()>& work);
// Records this failure in the open runs of rank 0. Any thread may call it.
void record_failure_of_other_rank(const Error& error);
// As Session::note_failure, within a call in the session.
void note_failure(const std::optional<Error>& error);
// Throws Error(kUsage) if a pointer that the call needs is null.
void require(const void* pointer, const char* what);
// Throws Error(kUsage) if it is a null pointer, or if eave_close has freed it.
void require_open(const eave_averager* averager);

}  // namespace eave
