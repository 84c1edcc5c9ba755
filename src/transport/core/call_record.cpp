#include "transport/core/call_record.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace eave {
namespace {

using Verb = Operation::Verb;

// In the order of Operation::Verb.
constexpr std::array kNames = {"sum",
                               "broadcast",
                               "gathering of texts",
                               "gathering of texts on rank 0",
                               "broadcast of a text",
                               "scattering of texts of rank 0",
                               "lending of memory",
                               "split",
                               "change of service",
                               "request",
                               "exchange",
                               "nothing"};
static_assert(kNames.size() == static_cast<std::size_t>(Verb::kNothing) + 1);

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now().time_since_epoch()).count();
}

// The rank that all requests go to; -1 if they go to several ranks.
int owner_of(std::span<const ServiceRequest> requests) noexcept {
  const auto other = [&](const ServiceRequest& each) { return each.owner != requests.front().owner; };
  return requests.empty() || std::ranges::any_of(requests, other) ? -1 : requests.front().owner;
}

}  // namespace

std::int64_t continue_history(std::int64_t history, Verb verb, std::int64_t bytes, int root) noexcept {
  const bool has_values = verb == Verb::kAllReduceSum || verb == Verb::kBroadcast;
  const std::array<std::int64_t, 4> words = {history, static_cast<std::int64_t>(verb), has_values ? bytes : 0, root};
  return static_cast<std::int64_t>(hash_of({reinterpret_cast<const char*>(words.data()), sizeof words}).low);
}

const char* name_of(Verb verb) noexcept { return kNames[static_cast<std::size_t>(verb)]; }

bool in_step(const Call& mine, const Call& theirs) noexcept {
  if (mine.verb != theirs.verb) return false;
  if (mine.verb == Verb::kAllReduceSum) return mine.bytes == theirs.bytes;
  return mine.verb != Verb::kBroadcast || (mine.bytes == theirs.bytes && mine.root == theirs.root);
}

Call CallRecord::describe(const Operation::Request& request, int ranks_of_part) noexcept {
  const bool is_of_all = ranks_of_part == 0 && request.verb != Verb::kRequest && request.verb != Verb::kNothing &&
                         (request.ranks.empty() || std::ssize(request.ranks) == ranks_);
  Call call{.begin = now(),
            .bytes = static_cast<std::int64_t>(request.values.size_bytes()),
            .ranks = ranks_of_part > 0 ? ranks_of_part : ranks_,
            .verb = request.verb,
            .on_device = on_device_ ? 1 : 0};
  call.sequence = begun_.load(std::memory_order_relaxed);
  if (!request.ranks.empty()) call.ranks = static_cast<std::int32_t>(request.ranks.size());
  if (request.verb == Verb::kBroadcast) call.root = request.root;
  if (request.mine) call.bytes = static_cast<std::int64_t>(request.mine->size());
  if (request.verb == Verb::kRequest) {
    for (const ServiceRequest& each : request.requests)
      call.bytes += static_cast<std::int64_t>(each.values.size_bytes());
    call.root = owner_of(request.requests);
    call.ranks = 2;
  }
  if (is_of_all) {
    call.collective = collectives_++;
    call.history = history_ = continue_history(history_, call.verb, call.bytes, call.root);
  }
  return call;
}

void CallRecord::begin(const Operation::Request& request, int ranks_of_part) noexcept {
  last_ = describe(request, ranks_of_part);
  write(last_);
  begun_.store(last_.sequence + 1, std::memory_order_release);
}

void CallRecord::end() noexcept {
  if (last_.sequence < 0 || last_.end != 0) return;
  last_.end = now();
  write(last_);
}

void CallRecord::write(const Call& call) noexcept {
  Place& place = places_[static_cast<std::size_t>(call.sequence % kKept)];
  const auto words = std::bit_cast<std::array<std::int64_t, kWords>>(call);
  const std::int64_t version = place.version.load(std::memory_order_relaxed);
  place.version.store(version + 1, std::memory_order_relaxed);
  for (std::size_t k = 0; k < kWords; ++k) place.words[k].store(words[k], std::memory_order_release);
  place.version.store(version + 2, std::memory_order_release);
}

std::optional<Call> CallRecord::call(std::int64_t sequence) const noexcept {
  if (sequence < 0 || sequence >= begun()) return std::nullopt;
  const Place& place = places_[static_cast<std::size_t>(sequence % kKept)];
  std::array<std::int64_t, kWords> words{};
  for (int tries = 0; tries < 100; ++tries) {
    const std::int64_t version = place.version.load(std::memory_order_acquire);
    for (std::size_t k = 0; k < kWords; ++k) words[k] = place.words[k].load(std::memory_order_acquire);
    if (version % 2 != 0 || place.version.load(std::memory_order_relaxed) != version) continue;
    const Call found = std::bit_cast<Call>(words);
    return found.sequence == sequence ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Call> CallRecord::call_of_collective(std::int64_t collective) const noexcept {
  for (std::int64_t sequence = begun() - 1, oldest = sequence - kKept; sequence > oldest && sequence >= 0; --sequence) {
    const std::optional<Call> found = call(sequence);
    if (found && found->collective == collective) return found;
  }
  return std::nullopt;
}

std::optional<Call> CallRecord::under_way() const noexcept {
  const std::optional<Call> last = call(begun() - 1);
  return last && last->end == 0 ? last : std::nullopt;
}

}  // namespace eave
