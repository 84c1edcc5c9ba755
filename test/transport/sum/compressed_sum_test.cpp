// Compressed sums on every transport and number of ranks, compared with a simulation that is written from their
// description alone.
#include <gtest/gtest.h>

#include "test/allocations.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"
#include "test/transport/sum/codecs.h"

namespace eave {
namespace {

using Vectors = std::vector<std::vector<float>>;  // one for each rank

class CompressedSums : public testing::TestWithParam<Ranks> {};

// Computes the values x and the residuals e of all ranks after one sum, block by block, without messages.
void simulate(const Codec& codec, Vectors& x, Vectors& e, std::size_t first_block = 0) {
  const std::size_t p = x.size();
  if (p == 1) return;
  for (std::size_t at = 0, block = first_block; at < x[0].size(); at += Codec::kBlock, ++block) {
    const std::size_t owner = block % p, end = std::min(at + Codec::kBlock, x[0].size());
    const auto cut = [&](const std::vector<float>& v) {
      return std::vector<float>(v.begin() + static_cast<std::ptrdiff_t>(at),
                                v.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<float> sum;
    for (std::size_t rank = 0; rank < p; ++rank) {
      std::vector<float> v = cut(x[rank]), residual = cut(e[rank]);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += residual[i];
      const std::vector<float> sent = rank == owner ? v : left_of(codec, v);
      for (std::size_t i = at; i < end; ++i) e[rank][i] = v[i - at] - sent[i - at];
      if (sum.empty()) sum.assign(sent.size(), 0);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = rank == 0 ? sent[i] : sum[i] + sent[i];
    }
    const std::vector<float> result = left_of(codec, sum);
    for (std::size_t i = at; i < end; ++i) e[owner][i] = sum[i - at] - result[i - at];
    for (std::size_t rank = 0; rank < p; ++rank)
      std::ranges::copy(result, x[rank].begin() + static_cast<std::ptrdiff_t>(at));
  }
}

std::vector<float> numbers(int rank, std::size_t count, int round) { return uneven_numbers(100 * round + rank, count); }

TEST_P(CompressedSums, are_those_of_the_simulation_bit_by_bit) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto p = static_cast<std::size_t>(transport.size()), me = static_cast<std::size_t>(transport.rank());
    for (const CodecKind& kind : codec_kinds()) {
      const auto codec = make_codec(kind.name);
      for (std::size_t count : {0, 1, 1023, 1024, 1025, 5000, 200003}) {
        std::vector<float> values, residual(count);
        Vectors e(p, std::vector<float>(count));
        for (int round = 0; round < 3; ++round) {
          Vectors x;
          for (std::size_t rank = 0; rank < p; ++rank) x.push_back(numbers(static_cast<int>(rank), count, round));
          values = x[me];
          simulate(*codec, x, e);
          transport.all_reduce_sum(values, {}, {codec.get(), residual}).wait();
          EXPECT_TRUE(same_bits(values, x[me])) << kind.name << ", " << count << " values, round " << round;
          EXPECT_TRUE(same_bits(residual, e[me])) << kind.name << ", " << count << " values, round " << round;
        }
      }
    }
  });
}

// The values are more than a device transfers at once.
TEST_P(CompressedSums, of_many_values_are_those_of_the_simulation) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto p = static_cast<std::size_t>(transport.size()), me = static_cast<std::size_t>(transport.rank());
    const auto codec = make_codec("int8");
    const std::size_t count = (std::size_t{2} << 20) + 5000;
    std::vector<float> residual(count);
    Vectors x, e(p, residual);
    for (std::size_t rank = 0; rank < p; ++rank) x.push_back(numbers(static_cast<int>(rank), count, 0));
    std::vector<float> values = x[me];
    simulate(*codec, x, e);
    transport.all_reduce_sum(values, {}, {codec.get(), residual}).wait();
    EXPECT_TRUE(same_bits(values, x[me]));
    EXPECT_TRUE(same_bits(residual, e[me]));
  });
}

// The values are whole numbers, so sums are exact and computing residuals rounds nothing.
TEST_P(CompressedSums, lose_nothing_but_to_the_residuals) {
  on_ranks(GetParam(), [](Transport& transport) {
    const float p = static_cast<float>(transport.size());
    for (const std::string name : {"bf16", "fp16", "top-k"}) {
      const auto codec = make_codec(name, name == "top-k" ? "0.1" : "");
      const std::size_t count = 3 * Codec::kBlock + 100;
      std::vector<float> residual(count), came(count), arrived(count);
      bool has_residual = false;
      for (int round = 0; round < 6; ++round) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(transport.rank() * 131 + round)) % 4099);
          came[i] += values[i];
        }
        transport.all_reduce_sum(values, {}, {codec.get(), residual}).wait();
        for (std::size_t i = 0; i < count; ++i) arrived[i] += values[i];
        has_residual |= std::ranges::any_of(residual, [](float value) { return value != 0; });
      }
      EXPECT_EQ(has_residual, p > 1) << name;
      if (p == 1) continue;
      std::vector<float> all_came = came, rest = residual;
      transport.all_reduce_sum(all_came).wait();
      transport.all_reduce_sum(rest).wait();
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(arrived[i] + rest[i], all_came[i]) << name << " at " << i;
    }
  });
}

TEST_P(CompressedSums, of_parts_that_begin_with_blocks_are_those_of_the_whole) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const CodecKind& kind : codec_kinds()) {
      const auto codec = make_codec(kind.name);
      const std::size_t count = 9 * Codec::kBlock + 17;
      std::vector<float> whole = numbers(transport.rank(), count, 0), parts = whole, rest(count), rests(count);
      transport.all_reduce_sum(whole, {}, {codec.get(), rest}).wait();
      for (std::size_t at = 0; at < count; at += 2 * Codec::kBlock) {
        const std::size_t size = std::min(2 * Codec::kBlock, count - at);
        transport
            .all_reduce_sum(Slice(parts).subspan(at, size), {},
                            {codec.get(), Slice(rests).subspan(at, size), at / Codec::kBlock})
            .wait();
      }
      EXPECT_TRUE(same_bits(parts, whole)) << kind.name;
      EXPECT_TRUE(same_bits(rests, rest)) << kind.name;
    }
  });
}

TEST_P(CompressedSums, among_some_ranks_leave_the_others_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() < 3) return;
    const std::vector<int> group = {0, transport.size() - 1};
    const auto codec = make_codec("int8");
    std::vector<float> values = numbers(transport.rank(), 3000, 0), residual(3000);
    if (transport.rank() != group[0] && transport.rank() != group[1]) return;
    Vectors x = {numbers(group[0], 3000, 0), numbers(group[1], 3000, 0)}, e(2, residual);
    simulate(*codec, x, e);
    transport.all_reduce_sum(values, group, {codec.get(), residual}).wait();
    EXPECT_TRUE(same_bits(values, x[0]));
    EXPECT_TRUE(same_bits(residual, e[transport.rank() == 0 ? 0 : 1]));
  });
}

TEST_P(CompressedSums, show_a_value_that_is_not_finite_on_every_rank) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const CodecKind& kind : codec_kinds()) {
      const auto codec = make_codec(kind.name);
      std::vector<float> values(5000, 1.0f), residual(5000);
      if (transport.rank() == transport.size() - 1) values[1234] = std::numeric_limits<float>::infinity();
      transport.all_reduce_sum(values, {}, {codec.get(), residual}).wait();
      EXPECT_FALSE(std::isfinite(values[1234])) << kind.name;
      EXPECT_TRUE(std::isfinite(values[4000])) << kind.name << ": other blocks are";
    }
  });
}

TEST_P(CompressedSums, keep_their_place_among_other_operations) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto codec = make_codec("int8");
    const float p = static_cast<float>(transport.size());
    std::vector<float> a(3000, 127), b(3000, 1), rest(3000);
    for (int round = 0; round < 20; ++round) {
      std::ranges::fill(a, 127.0f);
      std::ranges::fill(b, 1.0f);
      Pending plain = transport.all_reduce_sum(b), compressed = transport.all_reduce_sum(a, {}, {codec.get(), rest});
      Pending after = transport.broadcast(b, 0);
      after.wait();
      compressed.wait();
      plain.wait();
      EXPECT_EQ(b, std::vector<float>(3000, p));
      EXPECT_EQ(a, std::vector<float>(3000, 127 * p));
    }
  });
}

TEST_P(CompressedSums, allocate_nothing_in_a_steady_state) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto codec = make_codec("int8");
    std::vector<float> values(100000, 1), rest(100000);
    const auto sum = [&] { transport.all_reduce_sum(values, {}, {codec.get(), rest}).wait(); };
    for (int warm_up = 0; warm_up < 20; ++warm_up) sum();
    const long before = allocations();  // if ranks are threads, it counts all ranks; all are past their first sums
    for (int k = 0; k < 10; ++k) sum();
    const long after = allocations();
    sum();  // keeps each rank here until all ranks have read the counter
    EXPECT_EQ(after - before, 0);
  });
}

TEST_P(CompressedSums, need_a_residual_as_large_as_the_values) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    const auto codec = make_codec("bf16");
    std::vector<float> values(10), residual(9);
    EXPECT_THROW(transport.all_reduce_sum(values, {}, {codec.get(), residual}), Error);
  });
}

INSTANTIATE_TEST_SUITE_P(AllTransports, CompressedSums, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
