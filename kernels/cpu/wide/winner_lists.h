// Lists the winners of one sample's pools, for the gradients of the convolution before them.
#pragma once

#include "kernels/cpu/wide/vector.h"
#include "kernels/cpu/wide/wide_names.h"

namespace eave::cpu {
namespace {

// A winner: the offset of the values that it multiplies, and the gradient that it passes.
struct Live {
  std::int32_t offset;
  float value;
};

typedef std::uint32_t __attribute__((may_alias)) Bits;
typedef std::uint64_t __attribute__((may_alias)) BitsOfTwo;

// Writes both members at once. Assumes little-endian.
EAVE_INLINE void write(Live* live, std::int32_t offset, Bits value) {
  *reinterpret_cast<BitsOfTwo*>(live) = BitsOfTwo{value} << 32 | static_cast<Bits>(offset);
}

// A pixel of the convolution's output: the begin of its window in the padded sample, and the end of its winners.
// Winners come in pairs: if their number is odd, a 0 follows the last.
struct Place {
  std::int32_t image, end;
};

// Two kinds of lists. By output channel: offsets of a winner's window in the padded sample. By place: offsets of its
// channel's weights. Losers are written too, but the next entry overwrites them: so there is no branch to mispredict.
class WinnerLists {
 public:
  // Rows of the padded sample are `image_row` apart, and the weights of two channels `channel_stride`. With
  // channel_stride 0 there are no lists by place.
  WinnerLists(const PooledConvolution& shape, std::int64_t image_row, std::int64_t channel_stride)
      : s_(shape), image_row_(image_row), channel_stride_(channel_stride), list_(windows() + 1) {}

  std::int64_t scratch_size() const {
    const std::int64_t by_place = windows() * positions() * 2 + most_by_place() * 2 + positions() * bucket() * 2;
    return s_.outputs * (list_ * 2 + 1) + (channel_stride_ > 0 ? by_place : 0) + kWidth;
  }
  void lend(float* scratch);

  void list(const std::uint8_t* winners, const float* d_output);

  const Live* of_output(std::int64_t output) const { return lists_ + output * list_; }
  std::int64_t count(std::int64_t output) const { return ends_[output] - output * list_; }
  const Place* places() const { return places_; }
  std::int64_t place_count() const { return place_end_ - places_; }
  const Live* by_place() const { return by_place_; }

 private:
  std::int64_t windows() const { return std::int64_t{s_.rows} * s_.columns; }
  std::int64_t positions() const { return std::int64_t{s_.pool} * s_.pool; }  // positions of a window
  std::int64_t bucket() const { return s_.outputs + 1; }
  std::int64_t most_by_place() const { return windows() * (s_.outputs + positions()); }

  template <bool kByPlace>
  void list_all(const std::uint8_t* winners, const float* d_output);
  void append_buckets(std::int32_t window);

  static constexpr int kMostPositions = 256;
  const PooledConvolution& s_;
  const std::int64_t image_row_, channel_stride_, list_;
  Live* lists_ = nullptr;
  std::int32_t* ends_ = nullptr;
  Place *places_ = nullptr, *place_end_ = nullptr;
  Live *by_place_ = nullptr, *by_place_end_ = nullptr;
  Live* buckets_ = nullptr;                   // winners of one window, by position
  std::int32_t bucket_ends_[kMostPositions];  // end of each bucket in buckets_
  std::int32_t within_[kMostPositions];       // offset of each position in a window
};

void WinnerLists::lend(float* scratch) {
  lists_ = reinterpret_cast<Live*>(scratch);
  buckets_ = lists_ + s_.outputs * list_;
  by_place_ = buckets_ + (channel_stride_ > 0 ? positions() * bucket() : 0);
  places_ = reinterpret_cast<Place*>(by_place_ + (channel_stride_ > 0 ? most_by_place() : 0));
  ends_ = reinterpret_cast<std::int32_t*>(places_ + (channel_stride_ > 0 ? windows() * positions() : 0));
  for (int i = 0; i < positions(); ++i) {
    within_[i] = static_cast<std::int32_t>(i / s_.pool * s_.stride * image_row_ +
                                           std::int64_t{1} * (i % s_.pool) * s_.stride * s_.channels);
  }
}

void WinnerLists::list(const std::uint8_t* winners, const float* d_output) {
  for (std::int64_t output = 0; output < s_.outputs; ++output)
    ends_[output] = static_cast<std::int32_t>(output * list_);
  place_end_ = places_;
  by_place_end_ = by_place_;
  channel_stride_ > 0 ? list_all<true>(winners, d_output) : list_all<false>(winners, d_output);
}

template <bool kByPlace>
void WinnerLists::list_all(const std::uint8_t* winners, const float* d_output) {
  const std::int64_t of_window = std::int64_t{1} * s_.pool * s_.stride;
  const int outputs = s_.outputs;
  const auto channel_stride = static_cast<std::int32_t>(channel_stride_);
  Live* const lists = lists_;
  std::int32_t* const ends = ends_;
  for (std::int64_t row = 0; row < s_.rows; ++row) {
    for (std::int64_t column = 0; column < s_.columns; ++column, winners += s_.outputs, d_output += s_.outputs) {
      const auto window = static_cast<std::int32_t>(of_window * (row * image_row_ + column * s_.channels));
      if constexpr (kByPlace) {
        for (int i = 0; i < positions(); ++i) bucket_ends_[i] = static_cast<std::int32_t>(i * bucket());
      }
      std::int32_t channel = 0;
      for (int output = 0; output < outputs; ++output, channel += channel_stride) {
        const Bits value = reinterpret_cast<const Bits*>(d_output)[output];
        const std::int32_t is_live = value << 1 != 0;  // neither 0 nor -0
        // Without a gradient the winner may be no position (kDead), so position 0 is used.
        const std::int32_t position = winners[output] & -is_live;
        write(lists + ends[output], window + within_[position], value);
        ends[output] += is_live;
        if constexpr (kByPlace) {
          write(buckets_ + bucket_ends_[position], channel, value);
          bucket_ends_[position] += is_live;
        }
      }
      if constexpr (kByPlace) append_buckets(window);
    }
  }
}

void WinnerLists::append_buckets(std::int32_t window) {
  for (int i = 0; i < positions(); ++i) {
    Live* const end = buckets_ + bucket_ends_[i];
    *end = {0, 0};  // this entry exists, because losers are written too
    for (const Live* live = buckets_ + i * bucket(); live < end; live += 2) {
      by_place_end_[0] = live[0];
      by_place_end_[1] = live[1];
      by_place_end_ += 2;
    }
    *place_end_++ = {window + within_[i], static_cast<std::int32_t>(by_place_end_ - by_place_)};
  }
}

}  // namespace
}  // namespace eave::cpu
