// Decides which samples each rank uses in each step: `Sampler` of eave/dataset.h.
#include <algorithm>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "base/options/number_text.h"
#include "eave/check.h"
#include "eave/dataset.h"
#include "eave/random.h"

namespace eave {
namespace {

void require_enough(std::int64_t size, int ranks, std::int64_t batch) {
  EAVE_CHECK(ranks > 0, "a sampler deals to at least one rank");
  if (batch < 1) {
    throw Error(ExitCode::kConfiguration, "batch of " + count_text(batch, "sample") + ": give at least 1");
  }
  if (size < 1) throw Error(ExitCode::kConfiguration, "the training set is empty: there is nothing to train on");
  if (size < ranks) {
    throw Error(ExitCode::kConfiguration, count_text(ranks, "rank") + " but only " + std::to_string(size) +
                                              (size == 1 ? " training sample" : " training samples") +
                                              ": start at most as many ranks as there are samples");
  }
}

// The k-th of a class's n samples belongs into one of the places [⌊kN/n⌋, ⌈(k+1)N/n⌉) of all N.
struct Placement {
  std::int64_t release;
  std::int64_t deadline;
  std::uint32_t tie;
  std::int64_t index;
};

struct Later {
  bool operator()(const Placement& a, const Placement& b) const {
    return std::tie(a.deadline, a.tie, a.index) > std::tie(b.deadline, b.tie, b.index);
  }
};

std::vector<Placement> plan_placements(const std::vector<std::int64_t>& order, const std::vector<std::int32_t>& labels,
                                       RandomStream random) {
  const auto size = static_cast<std::int64_t>(order.size());
  std::vector<std::int64_t> count(static_cast<std::size_t>(*std::max_element(labels.begin(), labels.end())) + 1);
  for (const std::int32_t label : labels) ++count[static_cast<std::size_t>(label)];
  std::vector<std::int64_t> seen(count.size());
  std::vector<Placement> placements;
  placements.reserve(order.size());
  for (const std::int64_t index : order) {
    const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(index)]);
    const std::int64_t k = seen[label]++, n = count[label];
    placements.push_back({k * size / n, ((k + 1) * size + n - 1) / n, random.next_word(), index});
  }
  std::sort(placements.begin(), placements.end(),
            [](const Placement& a, const Placement& b) { return a.release < b.release; });
  return placements;
}

// Earliest deadline first. Gives a random order among those in which every prefix holds each class's share, rounded
// down or up. Such an order always exists (Baruah, Cohen, Plaxton, Varvel, "Proportionate progress", Algorithmica 15,
// 1996). The order does not depend on ranks and batches, so the same samples meet in a step for any number of ranks.
void stratify(std::vector<std::int64_t>& order, const std::vector<std::int32_t>& labels, RandomStream random) {
  const std::vector<Placement> placements = plan_placements(order, labels, random);
  std::priority_queue<Placement, std::vector<Placement>, Later> ready;
  auto next = placements.begin();
  for (std::size_t place = 0; place < order.size(); ++place) {
    while (next != placements.end() && next->release <= static_cast<std::int64_t>(place)) ready.push(*next++);
    EAVE_CHECK(!ready.empty(), "stratified order: no sample is due");
    order[place] = ready.top().index;
    ready.pop();
  }
}

}  // namespace

Sampler::Sampler(Sampling sampling, std::int64_t size, int ranks, std::int64_t batch_per_rank, std::uint64_t seed,
                 std::vector<std::int32_t> labels)
    : sampling_(sampling), size_(size), ranks_(ranks), seed_(seed), labels_(std::move(labels)) {
  require_enough(size, ranks, batch_per_rank);
  EAVE_CHECK(size <= INT32_MAX, "a sampler deals at most 2^31 - 1 samples");
  EAVE_CHECK(sampling != Sampling::kStratified || static_cast<std::int64_t>(labels_.size()) == size,
             "stratified sampling needs a label for every sample");
  // Keeps ranks × batch in range. A batch larger than the set would give the same steps.
  batch_ = std::min(batch_per_rank, size);
  order_.resize(static_cast<std::size_t>(size));
}

std::int64_t Sampler::steps_per_epoch() const {
  const std::int64_t step = ranks_ * batch_;
  return (size_ + step - 1) / step;
}

std::int64_t Sampler::samples_of_all_ranks(std::int64_t step_in_epoch) const {
  EAVE_CHECK(step_in_epoch >= 0 && step_in_epoch < steps_per_epoch(), "no such step in an epoch");
  return std::min(ranks_ * batch_, size_ - step_in_epoch * ranks_ * batch_);
}

std::int64_t Sampler::first(std::int64_t step_in_epoch, int rank) const {
  return samples_of_all_ranks(step_in_epoch) * rank / ranks_;
}

std::int64_t Sampler::samples(std::int64_t step_in_epoch, int rank) const {
  EAVE_CHECK(rank >= 0, "no such rank");
  if (rank >= ranks_) return 0;
  return first(step_in_epoch, rank + 1) - first(step_in_epoch, rank);
}

std::int64_t Sampler::samples_of_epoch(int rank) const {
  const std::int64_t last = steps_per_epoch() - 1;
  return last * batch_ + samples(last, rank);
}

void Sampler::arrange(std::int64_t pass, int rank) {
  if (pass == order_pass_ && rank == order_rank_) return;
  write_shuffled(order_, {seed_, Purpose::kShuffle, static_cast<std::uint32_t>(rank)},
                 static_cast<std::uint64_t>(pass));
  if (sampling_ == Sampling::kStratified) {
    constexpr std::uint32_t kTies = 0xFFFFFFFF;  // the key's part is otherwise a rank, and no rank has this number
    stratify(order_, labels_, RandomStream({seed_, Purpose::kShuffle, kTies}, static_cast<std::uint64_t>(pass)));
  }
  order_pass_ = pass;
  order_rank_ = rank;
}

void Sampler::indices(std::int64_t epoch, std::int64_t step_in_epoch, int rank, std::span<std::int64_t> indices) {
  EAVE_CHECK(static_cast<std::int64_t>(indices.size()) == samples(step_in_epoch, rank), "room for one rank's batch");
  if (indices.empty()) return;
  if (sampling_ != Sampling::kWhole) {
    arrange(epoch, 0);
    const auto from = order_.begin() + step_in_epoch * ranks_ * batch_ + first(step_in_epoch, rank);
    std::copy_n(from, indices.size(), indices.begin());
    return;
  }
  std::int64_t place = epoch * samples_of_epoch(rank) + step_in_epoch * batch_;
  for (std::int64_t& index : indices) {
    arrange(place / size_, rank);
    index = order_[static_cast<std::size_t>(place % size_)];
    ++place;
  }
}

}  // namespace eave
