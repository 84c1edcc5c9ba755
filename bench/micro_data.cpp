// How many images a second the loader prepares when nothing else holds it up: it must outrun the step it hides behind.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "eave/dataset.h"
#include "eave/loader.h"

namespace eave {
namespace {

constexpr std::int64_t kImages = 10'000;
constexpr std::int64_t kBatch = 128;

// Images in memory, as the real ones are after opening.
class Noise : public Dataset {
 public:
  explicit Noise(ImageShape shape) : shape_(shape), pixels_(static_cast<std::size_t>(kImages * shape.size())) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = static_cast<std::uint8_t>(i * 2654435761U >> 24U);
  }
  std::int64_t size() const override { return kImages; }
  ImageShape shape() const override { return shape_; }
  int classes() const override { return 10; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % 10); }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    std::copy_n(pixels_.begin() + index * shape_.size(), shape_.size(), pixels.begin());
  }

 private:
  ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
};

void load(benchmark::State& state, ImageShape shape, const Augmentation& augmentation) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  DataSplit split;
  split.train = std::make_unique<Noise>(shape);
  split.mean.assign(channels, 0.5F);
  split.deviation.assign(channels, 0.25F);
  Sampler sampler(Sampling::kShard, kImages, 1, kBatch, 1, {});
  Loader::Settings settings;
  settings.augmentation = augmentation;
  settings.last_step = INT64_MAX;
  Loader loader(split, sampler, settings);
  std::int64_t images = 0;
  for (auto _ : state) {
    const Batch& batch = loader.next();
    images += batch.samples;
    benchmark::DoNotOptimize(batch.inputs.data());
  }
  state.SetItemsProcessed(images);
}

BENCHMARK_CAPTURE(load, grey_28x28, ImageShape{28, 28, 1}, Augmentation{})->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK_CAPTURE(load, colour_32x32_pad_crop_flip, ImageShape{32, 32, 3}, Augmentation{4, 32, 32, true})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace eave
