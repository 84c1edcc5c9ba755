#include "checkpoint/rank_state.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {
namespace {

constexpr const char* kConsensus = "consensus";

bool is_elsewhere(const Device& device, ConstSlice values) {
  return device.kind() != DeviceKind::kCpu && device.holds(values);
}

}  // namespace

void append_slices(std::vector<NamedSlice>& state, const std::string& owner, const std::vector<Slice>& slices) {
  for (std::size_t i = 0; i < slices.size(); ++i) state.push_back({owner + "." + std::to_string(i), slices[i]});
}

bool is_among(const std::vector<Slice>& slices, Slice slice) {
  return std::ranges::any_of(slices, [&](Slice each) { return each.data() == slice.data(); });
}

void write_values(Device& device, Slice into, ConstSlice values) {
  if (is_elsewhere(device, into)) return device.write(into, values);
  std::ranges::copy(values, into.begin());
}

void TakenState::begin(const CheckpointHeader& header) {
  header_ = header;
  values_.clear();
  copied_ = 0;
}

void TakenState::add(Device& device, const std::string& name, ConstSlice values, bool copies) {
  header_.vectors.push_back({name, values.size(), {}});
  const bool lies_elsewhere = is_elsewhere(device, values);
  if (copies || lies_elsewhere) {
    if (copied_ == copies_.size()) copies_.emplace_back();
    std::vector<float>& copy = copies_[copied_++];
    copy.resize(values.size());
    lies_elsewhere ? device.read(values, copy) : void(std::ranges::copy(values, copy.begin()));
    values = copy;
  }
  values_.push_back(values);
}

void TakenState::add(Device& device, const NamedSlice& vector, ConstSlice consensus, bool copies) {
  const bool is_it = vector.values.data() == consensus.data() && vector.values.size() == consensus.size();
  if (is_it && header_.consensus.empty()) header_.consensus = vector.name;
  add(device, vector.name, vector.values, copies);
}

void TakenState::add_consensus(Device& device, ConstSlice consensus, bool copies) {
  if (!header_.consensus.empty() || header_.rank != 0) return;
  header_.consensus = kConsensus;
  add(device, kConsensus, consensus, copies);
}

bool SavedRank::has(const std::string& name) const {
  return std::ranges::find(header.vectors, name, &CheckpointVector::name) != header.vectors.end();
}

bool SavedRank::fits(const NamedSlice& vector) const {
  return has(vector.name) && values(vector.name).size() == vector.values.size();
}

ConstSlice SavedRank::values(const std::string& name) const {
  std::size_t place = 0;
  for (const CheckpointVector& vector : header.vectors) {
    if (vector.name == name) return ConstSlice(body).subspan(place, vector.size);
    place += vector.size;
  }
  throw Error(ExitCode::kBadData, "the state of rank " + std::to_string(header.rank) + " has no '" + name + "'");
}

std::int64_t share_of_nonfinite(const std::vector<CheckpointHeader>& saved, int rank, int ranks) {
  std::int64_t count = 0;
  for (auto former = static_cast<std::size_t>(rank); former < saved.size(); former += static_cast<std::size_t>(ranks))
    count += saved[former].progress.nonfinite;
  return count;
}

}  // namespace eave
