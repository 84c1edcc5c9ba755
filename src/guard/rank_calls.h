// The calls of one rank, whoever carries them out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "transport/core/call_record.h"

namespace eave {

// The place where a rank shows its guard the calls that its device carries out (Transport::device_calls). The guard is
// made before the transport that has them. Any thread may use it.
class DeviceCalls {
 public:
  struct Shown {
    std::shared_ptr<const CallRecord> record;  // nullptr: none was shown yet
    // The ranks of the record are a part of the guard's job. Then no other part has the same calls.
    bool is_of_part = false;
  };

  // Takes the place of the record that was shown before. If the guard's job has all ranks of it, all show it before any
  // of them makes a call, and after the last call in the record before. So ranks compare calls of the same record.
  void show(std::shared_ptr<const CallRecord> record, bool is_of_part = false) {
    const std::lock_guard lock(mutex_);
    shown_ = {std::move(record), is_of_part};
  }
  Shown shown() const {
    const std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  mutable std::mutex mutex_;
  Shown shown_;
};

// The two records of a rank. Each numbers its calls by itself, and ranks compare calls of the same record only:
// Call::on_device says which it is. Any thread may use it.
class RankCalls {
 public:
  // Both outlive this.
  RankCalls(const CallRecord& calls, const DeviceCalls& on_device) : calls_(calls), on_device_(on_device) {}

  const CallRecord& of_thread() const noexcept { return calls_; }
  // nullptr if none was shown yet.
  std::shared_ptr<const CallRecord> of_device() const { return on_device_.shown().record; }

  // Calls so far, in both records.
  std::int64_t begun() const {
    const auto of_device = this->of_device();
    return calls_.begun() + (of_device ? of_device->begun() : 0);
  }
  // The calls of all ranks so far, in the record that this call is in.
  std::int64_t collectives_like(const Call& call) const {
    if (call.on_device == 0) return calls_.collectives();
    const auto of_device = this->of_device();
    return of_device ? of_device->collectives() : 0;
  }
  // The call with this number among those of all ranks, in the record that `call` is in.
  std::optional<Call> call_like(const Call& call, std::int64_t collective) const {
    if (call.on_device == 0) return calls_.call_of_collective(collective);
    const auto of_device = this->of_device();
    return of_device ? of_device->call_of_collective(collective) : std::nullopt;
  }
  // The call in progress. If there is one in each record, the one that began first.
  std::optional<Call> under_way() const {
    const std::optional<Call> call = calls_.under_way();
    const DeviceCalls::Shown shown = on_device_.shown();
    std::optional<Call> of_device = shown.record ? shown.record->under_way() : std::nullopt;
    if (of_device && shown.is_of_part) of_device->collective = -1;
    if (!call || !of_device) return call ? call : of_device;
    return of_device->begin < call->begin ? of_device : call;
  }

 private:
  const CallRecord& calls_;
  const DeviceCalls& on_device_;
};

}  // namespace eave
