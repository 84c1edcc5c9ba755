// The dataset synthetic: digits that the program draws itself, in any number and size, without files. Sample i of a
// seed is the same everywhere. It is drawn anew whenever it is read, so a set of any size takes no memory.

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/sets/digit_renderer.h"
#include "eave/dataset.h"

namespace eave {
namespace {

constexpr int kClasses = 10;

class SyntheticDigits : public Dataset {
 public:
  // `part` keeps training and test samples apart.
  SyntheticDigits(std::int64_t size, std::shared_ptr<const DigitRenderer> renderer, ImageShape shape,
                  std::uint64_t seed, std::uint32_t part)
      : size_(size), renderer_(std::move(renderer)), shape_(shape), key_{seed, Purpose::kSynthetic, part} {}
  std::int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  int classes() const override { return kClasses; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(stream(index).below(kClasses));
  }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    RandomStream random = stream(index);
    const auto digit = static_cast<int>(random.below(kClasses));
    renderer_->draw(digit, random, pixels);
  }

 private:
  RandomStream stream(std::int64_t index) const { return {key_, static_cast<std::uint64_t>(index)}; }

  std::int64_t size_;
  std::shared_ptr<const DigitRenderer> renderer_;
  ImageShape shape_;
  RandomKey key_;
};

// Measures mean and deviation of each channel from the first samples.
void measure(const Dataset& dataset, DataSplit& split) {
  constexpr std::int64_t kMeasured = 500;
  const auto channels = static_cast<std::size_t>(dataset.shape().channels);
  std::vector<std::uint64_t> sum(channels), squares(channels);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(dataset.shape().size()));
  const std::int64_t samples = std::min(dataset.size(), kMeasured);
  for (std::int64_t index = 0; index < samples; ++index) {
    dataset.read(index, pixels);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      sum[i % channels] += pixels[i];
      squares[i % channels] += std::uint64_t{pixels[i]} * pixels[i];
    }
  }
  const double count = static_cast<double>(samples) * static_cast<double>(pixels.size() / channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const double mean = static_cast<double>(sum[channel]) / count;
    const double variance = static_cast<double>(squares[channel]) / count - mean * mean;
    split.mean.push_back(static_cast<float>(mean / 255));
    split.deviation.push_back(static_cast<float>(std::sqrt(std::max(variance, 1.0)) / 255));
  }
}

DataSplit open_synthetic(const OptionValues& values) {
  const auto side = static_cast<int>(values.integer("synthetic-size", 8, DigitRenderer::kLongestSide));
  const ImageShape shape{side, side,
                         static_cast<int>(values.integer("synthetic-channels", 1, DigitRenderer::kMostChannels))};
  const auto seed = values.seed("synthetic-seed");
  const auto renderer = std::make_shared<const DigitRenderer>(shape);
  DataSplit split;
  split.train =
      std::make_unique<SyntheticDigits>(values.integer("synthetic-samples", 1, INT32_MAX), renderer, shape, seed, 0);
  split.test = std::make_unique<SyntheticDigits>(values.integer("synthetic-test-samples", 1, INT32_MAX), renderer,
                                                 shape, seed, 1);
  measure(*split.train, split);
  return split;
}

}  // namespace

DatasetKind describe_dataset_synthetic() {
  return {
      "synthetic",
      "digits drawn by the program itself, 10 classes, any size and number, no files",
      {{"synthetic-samples", OptionType::kInteger, "60000", "number of training samples"},
       {"synthetic-test-samples", OptionType::kInteger, "10000", "number of test samples"},
       {"synthetic-size", OptionType::kInteger, "28", "height and width of images in pixels"},
       {"synthetic-channels", OptionType::kInteger, "1", "channels of images, at most 16: 1 for grey, 3 for colour"},
       {"synthetic-seed", OptionType::kInteger, "1",
        "seed of the images; another seed draws another set of the same kind"}},
      open_synthetic};
}

}  // namespace eave
