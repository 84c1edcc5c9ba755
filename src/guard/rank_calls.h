// The calls of one rank, whoever carries them out.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/core/call_record.h"

namespace eave {

// The two records of a rank's transport. Each numbers its calls by itself, and ranks compare calls of the same record
// only: Call::on_device says which it is. Any thread may use it.
class RankCalls {
 public:
  // Both outlive this. `on_device`: Transport::device_calls, which may be nullptr.
  RankCalls(const CallRecord& calls, const CallRecord* on_device = nullptr) : calls_(calls), on_device_(on_device) {}

  const CallRecord& of(bool on_device) const noexcept { return on_device && on_device_ ? *on_device_ : calls_; }
  const CallRecord& alike(const Call& call) const noexcept { return of(call.on_device != 0); }
  bool has_device() const noexcept { return on_device_ != nullptr; }

  // Calls so far, in both records.
  std::int64_t begun() const noexcept { return calls_.begun() + (on_device_ ? on_device_->begun() : 0); }
  // The call in progress. If there is one in each record, the one that began first.
  std::optional<Call> under_way() const noexcept {
    const std::optional<Call> call = calls_.under_way();
    const std::optional<Call> of_device = on_device_ ? on_device_->under_way() : std::nullopt;
    if (!call || !of_device) return call ? call : of_device;
    return of_device->begin < call->begin ? of_device : call;
  }

 private:
  const CallRecord& calls_;
  const CallRecord* const on_device_;
};

}  // namespace eave
