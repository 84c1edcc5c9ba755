// What a communication thread has been asked to do last, and when.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "transport/operation.h"

namespace eave {

struct Call {
  std::int64_t sequence = -1;  // of this rank's calls, from 0
  std::int64_t meeting = -1;  // of those in which all ranks take part, from 0: they are the same on all; -1: it is none
  std::int64_t begin = 0, end = 0;  // nanoseconds of the steady clock; 0: it has not ended
  std::int64_t bytes = 0;           // of this rank's values or text
  std::int64_t history = 0;         // of a meeting: a hash of it and all before, the same on ranks that are in step
  std::int32_t root = -1;           // of a broadcast; the owner, where all requests go to one
  std::int32_t ranks = 0;           // that take part
  Operation::Verb verb = Operation::Verb::kNothing;
  std::int32_t unused = 0;  // so that all of its bytes are known
};

const char* name_of(Operation::Verb verb) noexcept;

// Whether two ranks have called the same, where both calls are of one meeting. Texts and values of requests may differ
// in length.
bool in_step(const Call& mine, const Call& theirs) noexcept;

// The last 1024 calls. One thread writes; any other may read at the same time, and finds what it reads whole or gone.
// Neither waits for the other.
class CallRecord {
 public:
  static constexpr std::int64_t kKept = 1024;
  explicit CallRecord(int ranks) : ranks_(ranks) {}  // of the job

  void begin(const Operation::Request& request) noexcept;
  void end() noexcept;

  std::int64_t begun() const noexcept { return begun_.load(std::memory_order_acquire); }  // calls so far
  std::int64_t meetings() const noexcept { return meetings_.load(std::memory_order_acquire); }
  std::optional<Call> call(std::int64_t sequence) const noexcept;  // nullopt: it is not kept
  std::optional<Call> call_of_meeting(std::int64_t meeting) const noexcept;
  // The one that has begun and not ended.
  std::optional<Call> under_way() const noexcept;

 private:
  // A call in words that can be read while they are written.
  static constexpr std::size_t kWords = sizeof(Call) / sizeof(std::int64_t);
  static_assert(sizeof(Call) % sizeof(std::int64_t) == 0);
  struct Place {
    std::atomic<std::int64_t> version{0};  // odd: being written
    std::array<std::atomic<std::int64_t>, kWords> words{};
  };
  void write(const Call& call) noexcept;
  Call describe(const Operation::Request& request) noexcept;

  const int ranks_;
  std::int64_t history_ = 0;
  Call last_;  // of the thread that writes
  std::atomic<std::int64_t> begun_{0}, meetings_{0};
  std::array<Place, kKept> places_;
};

}  // namespace eave
