#include "train/loop/step_gradient.h"

#include "train/loop/micro_batches.h"

namespace eave {

Accumulation::Accumulation(const TrainingParts& parts, int passes)
    : replica_(parts.replica), passes_(passes), sum_(replica_.device.allocate(replica_.gradients.size())) {
  if (parts.data.train_images != nullptr) return;
  const std::int64_t most = parts.sampler.samples(0, parts.transport.rank());
  const ImageShape input = parts.augmentation.output(parts.data.train->shape());
  inputs_ = replica_.device.allocate_for_host(static_cast<std::size_t>(largest_part(most, passes) * input.size()));
}

Score Accumulation::train(const Batch& batch, float weight, const std::function<void(Slice)>& ready) {
  Score whole;
  for (int part = 0; part < passes_; ++part) {
    const std::int64_t begin = batch.samples * part / passes_, end = batch.samples * (part + 1) / passes_;
    const Batch piece = part_of(batch, begin, end - begin, inputs_.slice());
    const bool is_last = part + 1 == passes_;
    const double share = batch.samples == 0 ? 0 : static_cast<double>(end - begin) / static_cast<double>(batch.samples);
    const auto own = static_cast<float>(weight * share);
    const Slice gradients = part == 0 && !is_last ? sum_.slice() : replica_.gradients.slice();
    const Score score = train_part(piece, gradients, own, is_last ? ready : nullptr);
    whole = {whole.loss_sum + score.loss_sum, whole.correct + score.correct, whole.samples + score.samples};
    if (part > 0 && !is_last) replica_.device.add_scaled(sum_.slice(), 1, gradients);
  }
  if (!ready && passes_ > 1) add_sum(replica_.gradients.slice());
  return whole;
}

Score Accumulation::train_part(const Batch& part, Slice gradients, float weight,
                               const std::function<void(Slice)>& ready) {
  std::function<void(Slice)> add_and_tell;
  if (ready) {
    add_and_tell = [&](Slice values) {
      if (passes_ > 1) add_sum(values);
      ready(values);
    };
  }
  const std::int64_t ticket = replica_.model.train(part, replica_.seed, replica_.parameters.slice(),
                                                   replica_.statistics.slice(), gradients, weight, add_and_tell);
  return replica_.model.score(part.samples, ticket);
}

void Accumulation::add_sum(Slice gradients) {
  const auto offset = static_cast<std::size_t>(gradients.data() - replica_.gradients.slice().data());
  replica_.device.add_scaled(gradients, 1, sum_.slice().subspan(offset, gradients.size()));
}

}  // namespace eave
