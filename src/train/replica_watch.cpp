#include "train/replica_watch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/host.h"

namespace eave {
namespace {

constexpr std::int64_t kStepsUnderWay = 10;  // until the sum is looked at
// 16 bits are exact in a float32, and so is their sum with zeros.
constexpr std::size_t kPieces = sizeof(Hash128) / sizeof(std::uint16_t);

std::string name_ranks(const std::vector<std::size_t>& ranks, const std::vector<std::string>& hosts) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const std::size_t rank : ranks) {
    text += (rank == ranks.front() ? "" : ", ") + std::to_string(rank) + " on " + hosts[rank];
  }
  return text;
}

bool are_alike(const std::vector<std::string>& hashes) {
  return std::ranges::all_of(hashes, [&](const std::string& each) { return each == hashes.front(); });
}

// Of equally common ones that of the lowest rank.
const std::string& commonest(const std::vector<std::string>& hashes) {
  std::map<std::string, std::ptrdiff_t> counts;
  for (const std::string& each : hashes) ++counts[each];
  return *std::ranges::max_element(hashes, {}, [&](const std::string& each) { return counts[each]; });
}

}  // namespace

ReplicaWatch::ReplicaWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
    : parts_(parts),
      plan_(plan),
      events_(events),
      every_(parts.transport.size() > 1 && parts.traits.exchanges_together ? plan.replica_hash_every : 0) {}

void ReplicaWatch::begin(const TrainingProgress& progress) {
  repaired_ = progress.repaired;
  steps_done_ = first_step_ = progress.steps;
  if (every_ > 0 && progress.steps > 0) compare();
}

void ReplicaWatch::after_step(std::int64_t index) {
  if (every_ == 0) return;
  steps_done_ = index + 1;
  ++steps_since_;
  if (comparison_ && is_due()) settle();
  if (steps_since_ < every_ || comparison_) return;
  const std::vector<Slice> replicated = parts_.communicator.replicated();
  if (replicated.empty()) return;  // between two exchanges
  start(replicated);
  if (waits()) settle();
}

// The sum stands in line behind an exchange that had begun before it, and may be as long under way.
bool ReplicaWatch::is_due() const {
  if (steps_done_ < comparison_->step + std::min(every_, kStepsUnderWay)) return false;
  return parts_.communicator.exchange_under_way().value_or(comparison_->step) >= comparison_->step;
}

void ReplicaWatch::meet() {
  if (every_ == 0) return;
  settle();
  if (steps_since_ > 0) compare();
}

// Nobody hears of all hashes but rank 0, unless they differ.
void ReplicaWatch::compare() {
  const std::vector<Slice> replicated = parts_.communicator.replicated();
  if (replicated.empty()) return;
  steps_since_ = 0;
  const std::string mine = hash_of_all(replicated).text();
  const std::vector<std::string> hashes = parts_.transport.gather(mine);
  if (parts_.transport.broadcast_text(are_alike(hashes) ? "" : "differ").empty()) return;
  judge(parts_.transport.all_gather(mine), steps_done_);
}

void ReplicaWatch::start(const std::vector<Slice>& replicated) {
  steps_since_ = 0;
  const Hash128 hash = hash_of_all(replicated);
  std::array<std::uint16_t, kPieces> pieces{};
  std::memcpy(pieces.data(), &hash, sizeof(hash));
  comparison_.emplace();
  comparison_->step = steps_done_;
  comparison_->values.resize(kPieces * static_cast<std::size_t>(parts_.transport.size()));
  std::ranges::copy(pieces, comparison_->values.data() + kPieces * static_cast<std::size_t>(parts_.transport.rank()));
  comparison_->pending = parts_.transport.all_reduce_sum(comparison_->values);
}

Hash128 ReplicaWatch::hash_of_all(const std::vector<Slice>& replicated) {
  Hasher hasher;
  for (const Slice values : replicated) {
    ConstSlice read = values;
    if (parts_.replica.device.kind() != DeviceKind::kCpu && parts_.replica.device.holds(values)) {
      copy_.resize(values.size());
      parts_.replica.device.read(values, copy_);
      read = copy_;
    }
    hasher.add({reinterpret_cast<const char*>(read.data()), read.size_bytes()});
  }
  return hasher.hash();
}

void ReplicaWatch::settle() {
  if (!comparison_) return;
  comparison_->pending.wait();
  const std::vector<float> values = std::move(comparison_->values);
  const std::int64_t step = comparison_->step;
  comparison_.reset();
  std::vector<std::string> hashes;
  for (std::size_t at = 0; at < values.size(); at += kPieces)
    hashes.emplace_back(reinterpret_cast<const char*>(values.data() + at), kPieces * sizeof(float));
  judge(hashes, step);
}

void ReplicaWatch::judge(const std::vector<std::string>& hashes, std::int64_t step) {
  if (are_alike(hashes)) return;
  const std::size_t ranks = hashes.size();
  const std::string& most = commonest(hashes);
  std::vector<std::size_t> alike, others;
  for (std::size_t rank = 0; rank < ranks; ++rank) (hashes[rank] == most ? alike : others).push_back(rank);
  const std::vector<std::string> hosts = parts_.transport.all_gather(host_name());
  const bool is_majority = 2 * alike.size() > ranks;
  const std::string when = step == first_step_ ? "as loaded from the checkpoint of step " : "after step ";
  const std::string text =
      when + std::to_string(step) + " " +
      (is_majority ? name_ranks(others, hosts) + (others.size() == 1 ? " no longer has" : " no longer have") +
                         " the bits of the other " + std::to_string(alike.size()) + " ranks"
                   : "no majority of ranks has the same bits: " + name_ranks(others, hosts) + " and " +
                         name_ranks(alike, hosts) + " differ") +
      " in what this method keeps equal on all; memory or a computation has failed there";
  if (!is_majority || !waits()) {
    throw AgreedError(ExitCode::kInternal,
                      text + (step == first_step_ ? "; where it says so again, take that checkpoint away: the one "
                                                    "before it is gone on from"
                              : is_majority ? "; look at that machine, and resume from the last checkpoint without it"
                                            : "; look at these machines, and resume from the last checkpoint"));
  }
  repair(static_cast<int>(alike.front()));
  if (parts_.transport.rank() == 0 && events_.warning) events_.warning(text + "; mended from the others");
}

void ReplicaWatch::repair(int root) {
  for (const Slice values : parts_.communicator.replicated()) parts_.transport.broadcast(values, root).wait();
  ++repaired_;
}

}  // namespace eave
