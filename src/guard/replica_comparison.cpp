#include "guard/replica_comparison.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/host.h"
#include "eave/agreement.h"
#include "guard/watchdog_report.h"

namespace eave {
namespace {

constexpr std::int64_t kStepsUnderWay = 10;  // steps before the sum is read
// A float32 holds 16 bits exactly, and their sum with zeros is exact too.
constexpr std::size_t kPieces = sizeof(Hash128) / sizeof(std::uint16_t);

bool are_alike(const std::vector<std::string>& hashes) {
  return std::ranges::all_of(hashes, [&](const std::string& each) { return each == hashes.front(); });
}

// The most frequent hash. If several are equally frequent, the one of the lowest rank.
const std::string& commonest(const std::vector<std::string>& hashes) {
  std::map<std::string, std::ptrdiff_t> counts;
  for (const std::string& each : hashes) ++counts[each];
  return *std::ranges::max_element(hashes, {}, [&](const std::string& each) { return counts[each]; });
}

std::string describe_sizes(const std::vector<Slice>& vectors) {
  std::string sizes;
  for (const Slice values : vectors) sizes += (sizes.empty() ? "" : ", ") + std::to_string(values.size());
  return sizes.empty() ? "no slices" : "slices of " + sizes + " values";
}

std::string describe(const std::vector<int>& alike, const std::vector<int>& others, bool is_majority,
                     const std::vector<std::string>& hosts) {
  if (!is_majority)
    return "no majority of ranks has the same bits: " + name_ranks(others, hosts) + " and " + name_ranks(alike, hosts) +
           " differ";
  return name_ranks(others, hosts) + (others.size() == 1 ? " no longer has" : " no longer have") +
         " the bits of the other " + std::to_string(alike.size()) + " ranks";
}

}  // namespace

ReplicaComparison::ReplicaComparison(Transport& transport, Device& device, ReplicatedVectors vectors,
                                     ReplicaComparisonSettings settings, std::function<void(const std::string&)> warn)
    : transport_(transport),
      device_(device),
      vectors_(std::move(vectors)),
      settings_(std::move(settings)),
      warn_(std::move(warn)) {}

void ReplicaComparison::after_step(std::int64_t index) {
  if (settings_.every == 0) return;
  steps_done_ = index + 1;
  ++steps_since_;
  if (under_way_ && is_due()) settle();
  if (steps_since_ < settings_.every || under_way_) return;
  if (vectors_.values().empty()) return;  // between two exchanges, the method has nothing that is equal
  start(all_vectors());
  if (settings_.repairs) settle();
}

std::vector<Slice> ReplicaComparison::all_vectors() const {
  std::vector<Slice> vectors = vectors_.values();
  vectors.insert(vectors.end(), vectors_.of_caller.begin(), vectors_.of_caller.end());
  return vectors;
}

// The sum is queued behind an exchange that began before it, and may take as long as that exchange.
bool ReplicaComparison::is_due() const {
  if (steps_done_ < under_way_->step + std::min(settings_.every, kStepsUnderWay)) return false;
  return vectors_.exchange_under_way().value_or(under_way_->step) >= under_way_->step;
}

// Only rank 0 gathers all hashes, unless they differ.
void ReplicaComparison::compare() {
  if (settings_.every == 0) return;
  require_same_sizes();
  const std::vector<Slice> vectors = all_vectors();
  if (vectors.empty()) return;
  if (!vectors_.values().empty()) steps_since_ = 0;
  const std::string mine = hash_of_all(vectors).text();
  const std::vector<std::string> hashes = transport_.gather(mine);
  if (transport_.broadcast_text(are_alike(hashes) ? "" : "differ").empty()) return;
  judge(transport_.all_gather(mine), steps_done_);
}

void ReplicaComparison::require_same_sizes() {
  if (settings_.every == 0 || settings_.plugin.empty()) return;
  const std::vector<std::string> slices = transport_.gather(describe_sizes(vectors_.values()));
  let_first_judge(transport_, [&] {
    for (std::size_t rank = 1; rank < slices.size(); ++rank) {
      if (slices[rank] == slices[0]) continue;
      throw Error(ExitCode::kInternal, settings_.plugin + ": replicated() returns " + slices[0] + " on rank 0, and " +
                                           slices[rank] + " on rank " + std::to_string(rank) +
                                           "; all ranks must return the same slices; tell whoever wrote the plug-in");
    }
  });
}

void ReplicaComparison::start(const std::vector<Slice>& vectors) {
  steps_since_ = 0;
  const Hash128 hash = hash_of_all(vectors);
  std::array<std::uint16_t, kPieces> pieces{};
  std::memcpy(pieces.data(), &hash, sizeof(hash));
  under_way_.emplace();
  under_way_->step = steps_done_;
  under_way_->values.resize(kPieces * static_cast<std::size_t>(transport_.size()));
  std::ranges::copy(pieces, under_way_->values.data() + kPieces * static_cast<std::size_t>(transport_.rank()));
  under_way_->pending = transport_.all_reduce_sum(under_way_->values);
}

Hash128 ReplicaComparison::hash_of_all(const std::vector<Slice>& vectors) {
  Hasher hasher;
  for (const Slice values : vectors) {
    ConstSlice read = values;
    if (device_.kind() != DeviceKind::kCpu && device_.holds(values)) {
      copy_.resize(values.size());
      device_.read(values, copy_);
      read = copy_;
    }
    hasher.add({reinterpret_cast<const char*>(read.data()), read.size_bytes()});
  }
  return hasher.hash();
}

void ReplicaComparison::settle() {
  if (!under_way_) return;
  under_way_->pending.wait();
  const std::vector<float> values = std::move(under_way_->values);
  const std::int64_t step = under_way_->step;
  under_way_.reset();
  std::vector<std::string> hashes;
  for (std::size_t at = 0; at < values.size(); at += kPieces)
    hashes.emplace_back(reinterpret_cast<const char*>(values.data() + at), kPieces * sizeof(float));
  judge(hashes, step);
}

void ReplicaComparison::judge(const std::vector<std::string>& hashes, std::int64_t step) {
  if (are_alike(hashes)) return;
  const std::string& most = commonest(hashes);
  std::vector<int> alike, others;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank)
    (hashes[rank] == most ? alike : others).push_back(static_cast<int>(rank));
  const bool is_majority = 2 * alike.size() > hashes.size();
  const std::vector<std::string> hosts = transport_.all_gather(host_name());
  const bool is_loaded = step > 0 && step == first_step_;
  const std::string text = (is_loaded ? "as loaded from the checkpoint of step " : "after step ") +
                           std::to_string(step) + " " + describe(alike, others, is_majority, hosts) +
                           " in what this method keeps equal on all; " + settings_.causes + suspicion_of_plugin();
  if (!is_majority || !settings_.repairs)
    throw AgreedError(ExitCode::kInternal, text + "; " + advice(is_majority, is_loaded));
  repair(alike.front());
  if (transport_.rank() == 0 && warn_) warn_(text + "; mended from the others");
}

std::string ReplicaComparison::suspicion_of_plugin() const {
  return settings_.plugin.empty() ? "" : ", or the method's plug-in keeps them unequal: " + settings_.plugin;
}

const std::string& ReplicaComparison::advice(bool is_majority, bool is_loaded) const {
  if (is_loaded) return settings_.advice_at_begin;
  return is_majority ? settings_.advice_with_majority : settings_.advice;
}

void ReplicaComparison::repair(int root) {
  for (const Slice values : all_vectors()) transport_.broadcast(values, root).wait();
  ++repaired_;
}

}  // namespace eave
