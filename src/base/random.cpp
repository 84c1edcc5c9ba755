#include "eave/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace eave {
namespace {

constexpr std::uint32_t kMultiplierA = 0xD2511F53, kMultiplierB = 0xCD9E8D57;
constexpr std::uint32_t kWeylA = 0x9E3779B9, kWeylB = 0xBB67AE85;
constexpr int kRounds = 10;

using Words = std::array<std::uint32_t, 4>;

Words philox_round(const Words& counter, std::uint32_t key_a, std::uint32_t key_b) {
  const std::uint64_t a = std::uint64_t{kMultiplierA} * counter[0];
  const std::uint64_t b = std::uint64_t{kMultiplierB} * counter[2];
  return {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key_a, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key_b, static_cast<std::uint32_t>(a)};
}

Words counter_of(std::uint64_t a, std::uint64_t b) {
  return {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32), static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(b >> 32)};
}

// The generator itself turns (seed, purpose, part) into a key, so that neighbouring seeds and parts share nothing.
std::uint64_t stream_of(const RandomKey& key) {
  const Words mixed = philox({static_cast<std::uint32_t>(key.purpose), key.part, 0, 0}, key.seed);
  return std::uint64_t{mixed[0]} | (std::uint64_t{mixed[1]} << 32);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto key_a = static_cast<std::uint32_t>(key);
  auto key_b = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    counter = philox_round(counter, key_a, key_b);
    key_a += kWeylA;
    key_b += kWeylB;
  }
  return counter;
}

std::array<std::uint32_t, 4> random_words(const RandomKey& key, std::uint64_t a, std::uint64_t b) {
  return philox(counter_of(a, b), stream_of(key));
}

RandomStream::RandomStream(const RandomKey& key, std::uint64_t a) : stream_(stream_of(key)), a_(a) {}

std::uint32_t RandomStream::next_word() {
  if (used_ == 4) {
    words_ = philox(counter_of(a_, block_), stream_);
    ++block_;
    used_ = 0;
  }
  return words_[static_cast<std::size_t>(used_++)];
}

std::uint32_t RandomStream::below(std::uint32_t bound) {
  // Lemire's multiply-shift with rejection of the short first interval: unbiased.
  std::uint64_t product = std::uint64_t{next_word()} * bound;
  const std::uint32_t threshold = (0u - bound) % bound;
  while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next_word()} * bound;
  return static_cast<std::uint32_t>(product >> 32);
}

float RandomStream::uniform() { return static_cast<float>(next_word() >> 8) * 0x1p-24f; }

float RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(next_word()) + 1.0) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(next_word()) * 0x1p-32;
  return static_cast<float>(radius * std::cos(angle));
}

void write_shuffled(std::span<std::int64_t> order, const RandomKey& key, std::uint64_t a) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  RandomStream random(key, a);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
  }
}

}  // namespace eave
