#include "data/sampling/augment.h"

#include <algorithm>
#include <string>

#include "eave/check.h"
#include "eave/random.h"

namespace eave {
namespace {

// Uniform in [0, bound), with a bias of at most bound / 2^32.
int scale(std::uint32_t word, int bound) {
  return static_cast<int>((std::uint64_t{word} * static_cast<std::uint64_t>(bound)) >> 32);
}

}  // namespace

ImageShape Augmentation::output(ImageShape input) const {
  if (pad < 0 || crop_height < 0 || crop_width < 0) {
    throw Error(ExitCode::kConfiguration, "padding and crop cannot be negative");
  }
  const ImageShape result{crop_height > 0 ? crop_height : input.height, crop_width > 0 ? crop_width : input.width,
                          input.channels};
  const std::int64_t border = std::int64_t{2} * pad;
  if (result.height <= input.height + border && result.width <= input.width + border) return result;
  throw Error(ExitCode::kConfiguration, "a crop of " + std::to_string(result.height) + " x " +
                                            std::to_string(result.width) + " does not fit into images of " +
                                            std::to_string(input.height) + " x " + std::to_string(input.width) +
                                            " padded by " + std::to_string(pad) + ": crop less, or pad more");
}

ImageTransform::ImageTransform(ImageShape input, const Augmentation& augmentation, const std::vector<float>& mean,
                               const std::vector<float>& deviation)
    : input_(input), output_(augmentation.output(input)), augmentation_(augmentation) {
  const auto channels = static_cast<std::size_t>(input.channels);
  EAVE_CHECK(mean.size() == channels && deviation.size() == channels, "one mean and deviation per channel");
  tables_.resize(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      const double scaled = static_cast<double>(value) / 255.0;
      tables_[channel][value] = static_cast<float>((scaled - double{mean[channel]}) / double{deviation[channel]});
    }
  }
}

Placing ImageTransform::random(std::uint64_t seed, std::int64_t step, std::int64_t index) const {
  const auto words =
      random_words({seed, Purpose::kAugment, 0}, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(index));
  Placing placing;
  placing.top = scale(words[0], input_.height + 2 * augmentation_.pad - output_.height + 1);
  placing.left = scale(words[1], input_.width + 2 * augmentation_.pad - output_.width + 1);
  placing.flip = augmentation_.flip && (words[2] >> 31) != 0;
  return placing;
}

Placing ImageTransform::centre() const {
  return {(input_.height + 2 * augmentation_.pad - output_.height) / 2,
          (input_.width + 2 * augmentation_.pad - output_.width) / 2, false};
}

void ImageTransform::fill_border(float* row, int first, int last) const {
  for (int x = first; x < last; ++x) {
    for (std::size_t channel = 0; channel < tables_.size(); ++channel) {
      row[static_cast<std::size_t>(x) * tables_.size() + channel] = tables_[channel][0];
    }
  }
}

void ImageTransform::convert(const std::uint8_t* pixel, std::ptrdiff_t stride, int count, float* values) const {
  if (tables_.size() == 1) {
    const Table& table = tables_.front();
    for (int x = 0; x < count; ++x, pixel += stride) values[x] = table[*pixel];
    return;
  }
  for (int x = 0; x < count; ++x, pixel += stride) {
    for (std::size_t channel = 0; channel < tables_.size(); ++channel) *values++ = tables_[channel][pixel[channel]];
  }
}

void ImageTransform::apply(std::span<const std::uint8_t> pixels, Placing placing, std::span<float> values) const {
  const int channels = input_.channels;
  const int left = placing.left - augmentation_.pad;  // the crop's left edge, as a column of the image
  const int first = std::clamp(-left, 0, output_.width);
  const int last = std::clamp(input_.width - left, first, output_.width);
  for (int y = 0; y < output_.height; ++y) {
    float* row = values.data() + std::int64_t{1} * y * output_.width * channels;
    const int from = y + placing.top - augmentation_.pad;
    if (from < 0 || from >= input_.height) {
      fill_border(row, 0, output_.width);
      continue;
    }
    // In a mirrored row, column x shows what column width − 1 − x would.
    const int begin = placing.flip ? output_.width - last : first;
    const int end = placing.flip ? output_.width - first : last;
    const int column = placing.flip ? left + output_.width - 1 - begin : left + begin;
    const std::int64_t offset = (std::int64_t{1} * from * input_.width + column) * channels;
    fill_border(row, 0, begin);
    if (begin < end) {
      convert(pixels.data() + offset, placing.flip ? -channels : channels, end - begin, row + begin * channels);
    }
    fill_border(row, end, output_.width);
  }
}

}  // namespace eave
