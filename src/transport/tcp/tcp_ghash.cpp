#include "transport/tcp/tcp_ghash.h"

#include <immintrin.h>

#include <algorithm>

// The functions below are compiled for processors that have these instructions, whatever the rest is compiled for.
#define EAVE_WITH_VPCLMULQDQ __attribute__((target("avx2,pclmul,vpclmulqdq")))

namespace eave {
namespace {

constexpr std::size_t kBlock = sizeof(Ghash::Block);

__m128i load(const std::byte* block) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block)); }

void store(__m128i value, Ghash::Block& block) { _mm_storeu_si128(reinterpret_cast<__m128i*>(block.data()), value); }

__m128i swap_halves(__m128i value) { return _mm_shuffle_epi32(value, 0x4e); }

__m128i add_up(__m128i a, __m128i b) { return _mm_xor_si128(a, b); }

// GHASH's first bit is the lowest one of its polynomial; a register's is the highest. So bytes are taken in reverse,
// and the key is multiplied by x beforehand, because products of reversed polynomials lie one bit too low.
EAVE_WITH_VPCLMULQDQ __m128i reversed(__m128i block) {
  return _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

EAVE_WITH_VPCLMULQDQ __m128i times_x(__m128i key) {
  const __m128i carries = _mm_srai_epi32(_mm_shuffle_epi32(key, 0xd3), 31);
  const __m128i of_carries = _mm_set_epi64x(static_cast<long long>(0xc200000000000001ULL), 1);
  return add_up(_mm_add_epi64(key, key), _mm_and_si128(carries, of_carries));
}

// The remainder of a product of 256 bits by x^128 + x^7 + x^2 + x + 1, half by half. `middle` overlaps both others.
EAVE_WITH_VPCLMULQDQ __m128i remainder(__m128i low, __m128i middle, __m128i high) {
  const __m128i polynomial = _mm_set_epi64x(static_cast<long long>(0xc200000000000000ULL), 1);
  middle = add_up(add_up(middle, swap_halves(low)), _mm_clmulepi64_si128(polynomial, low, 0x01));
  return add_up(add_up(high, swap_halves(middle)), _mm_clmulepi64_si128(polynomial, middle, 0x01));
}

EAVE_WITH_VPCLMULQDQ __m128i product(__m128i a, __m128i b) {
  const __m128i middle = add_up(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
  return remainder(_mm_clmulepi64_si128(a, b, 0x00), middle, _mm_clmulepi64_si128(a, b, 0x11));
}

EAVE_WITH_VPCLMULQDQ __m128i sum_of_lanes(__m256i value) {
  return add_up(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
}

EAVE_WITH_VPCLMULQDQ __m256i load_two(const std::byte* blocks) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks));
}

// (state + b0) k^16 + b1 k^15 + … + b15 k, with one remainder for all. Karatsuba: three products per block.
EAVE_WITH_VPCLMULQDQ __m128i fold_sixteen(__m128i state, const std::byte* blocks, const std::byte* powers,
                                          const std::byte* sums) {
  const __m256i order = _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  __m256i low = _mm256_setzero_si256(), middle = low, high = low;
#pragma GCC unroll 8
  for (std::size_t at = 0; at < 16 * kBlock; at += 2 * kBlock) {
    __m256i two = _mm256_shuffle_epi8(load_two(blocks + at), order);
    if (at == 0) two = _mm256_xor_si256(two, _mm256_zextsi128_si256(state));
    const __m256i power = load_two(powers + at), both = _mm256_xor_si256(two, _mm256_shuffle_epi32(two, 0x4e));
    low = _mm256_xor_si256(low, _mm256_clmulepi64_epi128(two, power, 0x00));
    high = _mm256_xor_si256(high, _mm256_clmulepi64_epi128(two, power, 0x11));
    middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(both, load_two(sums + at), 0x00));
  }
  const __m128i lowest = sum_of_lanes(low), highest = sum_of_lanes(high);
  return remainder(lowest, add_up(sum_of_lanes(middle), add_up(lowest, highest)), highest);
}

EAVE_WITH_VPCLMULQDQ void fold_blocks(Ghash::Block& hash, std::span<const std::byte> bytes,
                                      std::span<const Ghash::Block> powers, std::span<const Ghash::Block> sums) {
  __m128i state = load(hash.data());
  for (; bytes.size() >= 16 * kBlock; bytes = bytes.subspan(16 * kBlock))
    state = fold_sixteen(state, bytes.data(), powers.front().data(), sums.front().data());
  const __m128i key = load(powers.back().data());
  for (; !bytes.empty(); bytes = bytes.subspan(kBlock))
    state = product(add_up(state, reversed(load(bytes.data()))), key);
  store(state, hash);
}

EAVE_WITH_VPCLMULQDQ void make_powers(const Ghash::Block& block, std::span<Ghash::Block> powers,
                                      std::span<Ghash::Block> sums) {
  const __m128i key = times_x(reversed(load(block.data())));
  __m128i power = key;
  for (std::size_t number = powers.size(); number-- > 0; power = product(power, key)) {
    store(power, powers[number]);
    store(add_up(power, swap_halves(power)), sums[number]);
  }
}

EAVE_WITH_VPCLMULQDQ void reverse(Ghash::Block& block) { store(reversed(load(block.data())), block); }

}  // namespace

bool Ghash::is_supported() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
}

Ghash::Ghash(const Block& key) { make_powers(key, powers_, sums_); }

void Ghash::begin() {
  state_ = {};
  filled_ = 0;
  length_ = 0;
}

void Ghash::add(std::span<const std::byte> bytes) {
  length_ += bytes.size();
  if (filled_ > 0) {
    const std::size_t count = std::min(kBlock - filled_, bytes.size());
    std::ranges::copy(bytes.first(count), partial_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ < kBlock) return;
    fold(partial_);
  }
  filled_ = bytes.size() % kBlock;
  fold(bytes.first(bytes.size() - filled_));
  std::ranges::copy(bytes.last(filled_), partial_.begin());
}

// The last block is filled with zeros. Behind it comes the number of bits, big-endian.
Ghash::Block Ghash::end() {
  if (filled_ > 0) {
    std::fill(partial_.begin() + static_cast<std::ptrdiff_t>(filled_), partial_.end(), std::byte{});
    fold(partial_);
  }
  Block bits{};
  for (std::size_t at = 0; at < sizeof length_; ++at) bits[at] = static_cast<std::byte>(length_ * 8 >> (56 - 8 * at));
  fold(bits);
  Block hash = state_;
  reverse(hash);
  return hash;
}

void Ghash::fold(std::span<const std::byte> bytes) { fold_blocks(state_, bytes, powers_, sums_); }

}  // namespace eave
