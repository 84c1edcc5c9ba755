#include "train/loop/micro_batches.h"

#include <algorithm>
#include <bit>

#include "eave/check.h"

namespace eave {

Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t samples, Slice inputs) {
  const auto from = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(samples);
  Batch piece = batch;
  piece.samples = samples;
  const auto targets = static_cast<std::size_t>(batch.targets);
  piece.labels = batch.labels.subspan(from * targets, count * targets);
  piece.indices = batch.indices.subspan(from, count);
  if (batch.images == nullptr && count > 0) {
    const std::size_t size = batch.inputs.size() / static_cast<std::size_t>(batch.samples);
    std::ranges::copy(batch.inputs.subspan(from * size, count * size), inputs.begin());
    piece.inputs = inputs.first(count * size);
  }
  return piece;
}

MicroBatches::MicroBatches(const TrainingParts& parts)
    : parts_(parts),
      replica_(parts.replica),
      micro_batches_(parts.communicator.micro_batches()),
      of_rank_(micro_batches_ / parts.transport.size()) {
  EAVE_CHECK(of_rank_ > 0 && std::has_single_bit(static_cast<unsigned>(of_rank_)), "each rank has a subtree");
  Device& device = replica_.device;
  sums_.resize(static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(of_rank_))));
  for (Sum& sum : sums_) {
    sum = {device.allocate(replica_.gradients.size()), device.allocate(replica_.statistics.size())};
  }
  before_ = device.allocate(replica_.statistics.size());
  const std::int64_t largest = (parts.sampler.samples_of_all_ranks(0) + micro_batches_ - 1) / micro_batches_;
  const ImageShape image = parts.augmentation.output(parts.data.train->shape());
  if (parts.data.train_images == nullptr) {
    inputs_ = device.allocate_for_host(static_cast<std::size_t>(largest * image.size()));
  }
}

Score MicroBatches::train(const Batch& batch, const Step& step, const std::function<void(Slice)>& ready) {
  EAVE_CHECK(ready, "sums in pairs go on from part to part");
  replica_.device.copy(before_.slice(), replica_.statistics.slice());
  kept_ = 0;
  Score whole;
  for (int part = 0; part < of_rank_; ++part) {
    const bool is_last = part + 1 == of_rank_;
    const Slice gradients = is_last ? replica_.gradients.slice() : sums_[kept_].gradients.slice();
    const Score score = train_part(cut(batch, step, part), step, gradients, is_last ? ready : nullptr);
    whole = {whole.loss_sum + score.loss_sum, whole.correct + score.correct, whole.samples + score.samples};
    if (!is_last) keep_sum(part);
  }
  for (std::size_t i = kept_; i-- > 0;) {
    replica_.device.add_scaled(replica_.statistics.slice(), 1, sums_[i].statistics.slice());
  }
  return whole;
}

// Cuts the step's samples at the same places for any number of ranks.
Batch MicroBatches::cut(const Batch& batch, const Step& step, int part) {
  const std::int64_t all = step.samples_everywhere, first_of_rank = std::int64_t{parts_.transport.rank()} * of_rank_;
  const auto place = [&](std::int64_t number) { return all * number / micro_batches_; };
  const std::int64_t begin = place(first_of_rank + part) - place(first_of_rank),
                     end = place(first_of_rank + part + 1) - place(first_of_rank);
  EAVE_CHECK(end <= batch.samples, "the rank's batch is that of its micro-batches");
  return part_of(batch, begin, end - begin, inputs_.slice());
}

Score MicroBatches::train_part(const Batch& part, const Step& step, Slice gradients,
                               const std::function<void(Slice)>& ready) {
  Step own = step;
  own.samples = part.samples;
  const float weight = parts_.communicator.gradient_weight(own);
  const Slice statistics = replica_.statistics.slice();
  replica_.device.copy(statistics, before_.slice());
  std::function<void(Slice)> add_and_tell;
  if (ready) {
    add_and_tell = [&](Slice values) {
      add_kept(values);
      ready(values);
    };
  }
  const std::int64_t ticket = replica_.model.train(part, replica_.seed, replica_.parameters.slice(), statistics,
                                                   gradients, weight, add_and_tell);
  replica_.device.scale(statistics, weight);
  return replica_.model.score(part.samples, ticket);
}

// Adds sums of equal size, like a carry through a binary number; neighbours meet first.
void MicroBatches::keep_sum(int part) {
  replica_.device.copy(sums_[kept_].statistics.slice(), replica_.statistics.slice());
  for (int ones = part; ones % 2 == 1; ones /= 2) {
    --kept_;
    replica_.device.add_scaled(sums_[kept_].gradients.slice(), 1, sums_[kept_ + 1].gradients.slice());
    replica_.device.add_scaled(sums_[kept_].statistics.slice(), 1, sums_[kept_ + 1].statistics.slice());
  }
  ++kept_;
}

// Adds the kept sums to the gradients of the last micro-batch, the smallest sum first.
void MicroBatches::add_kept(Slice values) {
  const auto offset = static_cast<std::size_t>(values.data() - replica_.gradients.slice().data());
  for (std::size_t i = kept_; i-- > 0;) {
    replica_.device.add_scaled(values, 1, sums_[i].gradients.slice().subspan(offset, values.size()));
  }
}

}  // namespace eave
