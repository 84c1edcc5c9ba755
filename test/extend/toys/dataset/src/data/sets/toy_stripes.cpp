// A toy for test/extend: images of 8 x 8 pixels with vertical stripes. Class k has a stripe every k + 2 pixels.
#include "eave/dataset.h"
#include "eave/random.h"

namespace eave {
namespace {

constexpr int kSide = 8, kPeriods = 4;

class ToyStripes final : public Dataset {
 public:
  ToyStripes(std::int64_t size, std::uint32_t part) : size_(size), part_(part) {}
  std::int64_t size() const override { return size_; }
  ImageShape shape() const override { return {kSide, kSide, 1}; }
  int classes() const override { return kPeriods; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % kPeriods); }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    RandomStream random({.seed = 1, .purpose = Purpose::kSynthetic, .part = part_}, static_cast<std::uint64_t>(index));
    const auto period = static_cast<std::size_t>(label(index)) + 2,
               first = static_cast<std::size_t>(random.below(kSide));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = (i % kSide + first) % period == 0 ? 255 : 0;
  }

 private:
  std::int64_t size_;
  std::uint32_t part_;
};

DataSplit open_toy_stripes(const OptionValues& values) {
  DataSplit split;
  split.train = std::make_unique<ToyStripes>(values.integer("toy-stripes-samples", kPeriods), 0);
  split.test = std::make_unique<ToyStripes>(kPeriods, 1);
  split.mean = {0.32f};
  split.deviation = {0.47f};
  return split;
}

}  // namespace

DatasetKind describe_dataset_toy_stripes() {
  return {"toy-stripes",
          "a toy: 8 x 8 images of stripes, 4 classes",
          {{"toy-stripes-samples", OptionType::kInteger, "640", "number of training samples"}},
          open_toy_stripes};
}

}  // namespace eave
