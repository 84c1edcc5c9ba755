// Randomness without state: every number is a function of (seed, purpose, step, global sample index, position).
//
// A sample draws the same numbers in a step whichever rank has it, so dropout and augmentation do not depend on the
// number of ranks. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace eave {

// The use of random numbers. Streams of different purposes are independent.
enum class Purpose : std::uint32_t {
  kInitialise = 1,
  kShuffle = 2,
  kAugment = 3,
  kDropout = 4,
  kSynthetic = 5,
  kTest = 6,
  kGossip = 7,
  kHoldOut = 8,
  kJitter = 9,
  kGenerate = 10
};

struct RandomKey {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::kTest;
  std::uint32_t part = 0;  // number of a layer, tensor or class, for one stream each within a purpose
};

// The generator itself: four words of counter, two words of key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

// Four independent uniform 32-bit words for counter (a, b).
std::array<std::uint32_t, 4> random_words(const RandomKey& key, std::uint64_t a, std::uint64_t b);

// A sequence of numbers for one counter `a` (for example, a sample). It is cheap to make; do not share it between
// threads.
class RandomStream {
 public:
  RandomStream(const RandomKey& key, std::uint64_t a);

  std::uint32_t next_word();
  std::uint32_t below(std::uint32_t bound);  // uniform in [0, bound), unbiased; bound > 0
  float uniform();                           // in [0, 1), 24 bits
  float normal();                            // mean 0, variance 1 (Box-Muller)

 private:
  std::uint64_t stream_;
  std::uint64_t a_;
  std::uint64_t block_ = 0;
  int used_ = 4;
  std::array<std::uint32_t, 4> words_{};
};

// Writes 0, 1, … order.size() - 1 in the order of a Fisher-Yates shuffle by the stream of (key, a). `order` has
// at most 2^31 - 1 elements.
void write_shuffled(std::span<std::int64_t> order, const RandomKey& key, std::uint64_t a);

}  // namespace eave
