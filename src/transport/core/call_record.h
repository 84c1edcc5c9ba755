// A record of the last calls of a communication thread or of a device, and when they began and ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "transport/core/operation.h"

namespace eave {

struct Call {
  std::int64_t sequence = -1;  // number of this rank's call, from 0
  // Number of the collective call of all ranks, from 0: the same on all ranks. -1: not all ranks take part. Messages
  // and files call it the meeting.
  std::int64_t collective = -1;
  std::int64_t begin = 0, end = 0;  // nanoseconds of the steady clock; end 0: still in progress
  std::int64_t bytes = 0;           // of this rank's values or text
  // If all ranks take part: a hash of this call and all earlier ones of that kind. Ranks in step have the same hash.
  std::int64_t history = 0;
  std::int32_t root = -1;  // of a broadcast; of requests to one rank, that rank; else -1
  std::int32_t ranks = 0;  // how many take part
  Operation::Verb verb = Operation::Verb::kNothing;
  std::int32_t on_device = 0;  // 1: the device carries it out, not the communication thread. No byte is padding.
};

const char* name_of(Operation::Verb verb) noexcept;

// Whether two ranks have made the same call, given that both calls have the same `collective` number. Texts and values
// of requests may differ in length.
bool in_step(const Call& mine, const Call& theirs) noexcept;

// Continues a hash of collective calls by one call. `bytes`: of values; texts may differ in length.
std::int64_t continue_history(std::int64_t history, Operation::Verb verb, std::int64_t bytes, int root) noexcept;

// The last 1024 calls. One thread writes at a time: that of the job, or that of its part while there is one. Other
// threads may read at the same time: a call that is read is complete, or is missing. Neither side waits for the other.
class CallRecord {
 public:
  static constexpr std::int64_t kKept = 1024;
  // `ranks`: how many the job has. `on_device`: whether a device carries out the calls.
  explicit CallRecord(int ranks, bool on_device = false) : ranks_(ranks), on_device_(on_device) {}

  // `ranks_of_part`: of the part of the job that makes the call; 0: the whole job.
  void begin(const Operation::Request& request, int ranks_of_part = 0) noexcept;
  void end() noexcept;

  std::int64_t begun() const noexcept { return begun_.load(std::memory_order_acquire); }  // calls so far
  std::int64_t collectives() const noexcept { return collectives_.load(std::memory_order_acquire); }
  std::optional<Call> call(std::int64_t sequence) const noexcept;  // nullopt: no longer kept
  std::optional<Call> call_of_collective(std::int64_t collective) const noexcept;
  // The call that has begun and not ended.
  std::optional<Call> under_way() const noexcept;

 private:
  // A call as words that are atomic, so that other threads can read them during a write.
  static constexpr std::size_t kWords = sizeof(Call) / sizeof(std::int64_t);
  static_assert(sizeof(Call) % sizeof(std::int64_t) == 0);
  struct Place {
    std::atomic<std::int64_t> version{0};  // odd during a write
    std::array<std::atomic<std::int64_t>, kWords> words{};
  };
  void write(const Call& call) noexcept;
  Call describe(const Operation::Request& request, int ranks_of_part) noexcept;

  const int ranks_;
  const bool on_device_;
  std::int64_t history_ = 0;
  Call last_;  // used by the thread that writes
  std::atomic<std::int64_t> begun_{0}, collectives_{0};
  std::array<Place, kKept> places_;
};

}  // namespace eave
