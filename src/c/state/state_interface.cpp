// Implements those functions of eave.h that save an averager's state and restore it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/averager_handle.h"
#include "eave.h"
#include "eave/check.h"

namespace {

using eave::Averager;
using eave::Error;
using eave::ExitCode;
using eave::require;
using StateFunction = eave::InterfaceCall::Function;

void hand_out(const std::string& bytes, const void** begin, size_t* count) {
  *begin = bytes.data();
  *count = bytes.size();
}

}  // namespace

int eave_state(eave_averager* averager, const void* caller, size_t caller_bytes, const void** state, size_t* bytes) {
  return eave::call_on_averager(StateFunction::kState, averager, [&](Averager& own) {
    if (caller_bytes > 0) require(caller, "caller");
    require(state, "state");
    require(bytes, "bytes");
    averager->bytes.clear();
    averager->bytes = own.state({static_cast<const char*>(caller), caller_bytes});
    hand_out(averager->bytes, state, bytes);
  });
}

int eave_restore(eave_averager* averager, const void* const* states, const size_t* bytes, size_t count, int* former,
                 const void** caller, size_t* caller_bytes) {
  return eave::call_on_averager(StateFunction::kRestore, averager, [&](Averager& own) {
    require(former, "former");
    require(caller, "caller");
    require(caller_bytes, "caller_bytes");
    if (count > 0) require(states, "states");
    if (count > 0) require(bytes, "bytes");
    for (size_t i = 0; i < count; ++i) require(states[i], "a state");
    std::vector<std::string_view> given;
    for (size_t i = 0; i < count; ++i) given.emplace_back(static_cast<const char*>(states[i]), bytes[i]);
    Averager::Restored restored = own.restore(given);
    *former = restored.former;
    averager->bytes = std::move(restored.caller);
    hand_out(averager->bytes, caller, caller_bytes);
  });
}

int eave_save(eave_averager* averager, const char* directory, const void* caller, size_t caller_bytes, int64_t kept) {
  return eave::call_on_averager(StateFunction::kSave, averager, [&](Averager& own) {
    require(directory, "directory");
    if (caller_bytes > 0) require(caller, "caller");
    if (kept < 1) throw Error(ExitCode::kUsage, "eave_save: keeps " + std::to_string(kept) + "; expected 1 or more");
    own.save(directory, {static_cast<const char*>(caller), caller_bytes}, kept);
  });
}

int eave_load(eave_averager* averager, const char* directory, int* former, const void** caller, size_t* caller_bytes) {
  return eave::call_on_averager(StateFunction::kRestore, averager, [&](Averager& own) {
    require(directory, "directory");
    require(former, "former");
    require(caller, "caller");
    require(caller_bytes, "caller_bytes");
    std::optional<Averager::Restored> restored = own.load(directory);
    *former = restored ? restored->former : EAVE_NO_CHECKPOINT;
    averager->bytes = restored ? std::move(restored->caller) : "";
    hand_out(averager->bytes, caller, caller_bytes);
  });
}
