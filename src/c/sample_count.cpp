#include "c/sample_count.h"

#include <bit>
#include <cmath>

#include "base/options/number_text.h"
#include "eave/agreement.h"

namespace eave {
namespace {

// Integers travel in pieces of 12 bits: float32 adds up 4096 of them exactly.
constexpr int kBits = 12;
constexpr std::uint64_t kMask = (1 << kBits) - 1;
constexpr std::size_t kPiecesOfCount = 4, kPiecesOfNumber = 6;
// The places of the sum: the count of samples, the ranks that leave, the ranks with samples, and the numbers.
constexpr std::size_t kLeaving = kPiecesOfCount, kWithSamples = kLeaving + 1, kNumbers = kWithSamples + 1;

void write_pieces(std::span<float> pieces, std::uint64_t value) {
  for (float& piece : pieces) {
    piece = static_cast<float>(value & kMask);
    value >>= kBits;
  }
}

// The sum of equal values on `ranks` ranks gives the value.
std::uint64_t read_pieces(std::span<const float> pieces, float ranks) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) value += static_cast<std::uint64_t>(pieces[k] / ranks) << (kBits * k);
  return value;
}

std::span<float> pieces_of(std::vector<float>& values, std::size_t number) {
  return std::span(values).subspan(kNumbers + number * kPiecesOfNumber, kPiecesOfNumber);
}

}  // namespace

void SampleCount::start(std::int64_t samples, bool leaves, std::span<const double> numbers) {
  values_.assign(kNumbers + numbers.size() * kPiecesOfNumber, 0);
  write_pieces(std::span(values_).first(kPiecesOfCount), static_cast<std::uint64_t>(samples));
  values_[kLeaving] = leaves ? 1 : 0;
  values_[kWithSamples] = samples > 0 ? 1 : 0;
  for (std::size_t k = 0; samples > 0 && k < numbers.size(); ++k)
    write_pieces(pieces_of(values_, k), std::bit_cast<std::uint64_t>(numbers[k]));
  pending_ = transport_.all_reduce_sum(values_);
  is_under_way_ = true;
}

SampleCount::Result SampleCount::wait(std::span<double> numbers) {
  pending_.wait();
  is_under_way_ = false;
  const float ranks = values_[kWithSamples];
  for (std::size_t k = 0; ranks > 0 && k < numbers.size(); ++k)
    numbers[k] = std::bit_cast<double>(read_pieces(pieces_of(values_, k), ranks));
  return {.samples = static_cast<std::int64_t>(read_pieces(std::span(values_).first(kPiecesOfCount), 1)),
          .any_leaves = values_[kLeaving] > 0};
}

// Sums of floats are off by far less than the bound.
void refuse_shares(double sum) {
  if (sum == 0 || std::abs(sum - 1) < 1e-4) return;
  throw AgreedError(ExitCode::kUsage, "begin_step: samples/samples_everywhere of all ranks add up to " +
                                          number_text(sum) +
                                          ", not to 1: give all ranks the same samples_everywhere, the sum of "
                                          "their samples");
}

void SampleShares::count(const Step& step) {
  samples_ += step.samples;
  samples_everywhere_ += step.samples_everywhere;
}

void SampleShares::check(Transport& transport) {
  const auto samples = static_cast<double>(samples_), all = static_cast<double>(samples_everywhere_);
  samples_ = samples_everywhere_ = 0;
  // A rank without a step gets an equal weight.
  sum_ = static_cast<float>(all > 0 ? samples / all : 1.0 / transport.size());
  seconds_ += transport.all_reduce_sum({&sum_, 1}).wait();
  refuse_shares(sum_);
}

}  // namespace eave
