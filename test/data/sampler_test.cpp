// Sampler: which samples each rank uses in each step, and in which order.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "eave/check.h"
#include "eave/dataset.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

using Indices = std::vector<std::int64_t>;

Indices draw(Sampler& sampler, std::int64_t epoch, std::int64_t step, int rank) {
  Indices indices(static_cast<std::size_t>(sampler.samples(step, rank)));
  sampler.indices(epoch, step, rank, indices);
  return indices;
}

// The indices of all ranks in a step, in rank order.
Indices draw_step(Sampler& sampler, std::int64_t epoch, std::int64_t step, int ranks) {
  Indices all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Indices part = draw(sampler, epoch, step, rank);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Indices draw_epoch(Sampler& sampler, std::int64_t epoch, int ranks) {
  Indices all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Indices part = draw_step(sampler, epoch, step, ranks);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Indices counting_up(std::int64_t size) {
  Indices all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::vector<std::int32_t> uneven_labels(std::int64_t size) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < size; ++i) labels.push_back(i % 7 < 4 ? 0 : i % 7 < 6 ? 1 : 2);
  return labels;
}

struct Case {
  Sampling sampling;
  std::int64_t size;
  int ranks;
  std::int64_t batch;
  Sampler make(std::uint64_t seed = 5) const {
    return Sampler(sampling, size, ranks, batch, seed,
                   sampling == Sampling::kStratified ? uneven_labels(size) : std::vector<std::int32_t>{});
  }
  std::string name() const {
    return "sampling " + std::to_string(static_cast<int>(sampling)) + ", " + std::to_string(size) + " samples, " +
           std::to_string(ranks) + " ranks, batch " + std::to_string(batch);
  }
};

std::vector<Case> all_cases(std::initializer_list<Sampling> samplings) {
  std::vector<Case> cases;
  for (const Sampling sampling : samplings) {
    for (std::int64_t size = 1; size <= 17; ++size) {
      for (int ranks = 1; ranks <= std::min<std::int64_t>(size, 5); ++ranks) {
        for (std::int64_t batch = 1; batch <= 7; ++batch) cases.push_back({sampling, size, ranks, batch});
      }
    }
  }
  return cases;
}

constexpr auto kDealt = {Sampling::kShard, Sampling::kStratified};
constexpr auto kAll = {Sampling::kShard, Sampling::kStratified, Sampling::kWhole};

TEST(Sampler, every_sample_occurs_exactly_once_in_every_epoch_over_all_ranks) {
  for (const Case& one : all_cases(kDealt)) {
    Sampler sampler = one.make();
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      ASSERT_EQ(sorted(draw_epoch(sampler, epoch, one.ranks)), counting_up(one.size)) << one.name();
    }
  }
}

// Python's eave.Sampler gives the same orders: test/c/pytorch_sampler_rows.py has the same numbers.
TEST(Sampler, order_of_a_seed_and_epoch_stays_what_it_is) {
  Sampler sampler(Sampling::kShard, 8, 1, 8, 1, {});
  EXPECT_EQ(draw_step(sampler, 0, 0, 1), (Indices{3, 1, 7, 5, 6, 0, 2, 4}));
  EXPECT_EQ(draw_step(sampler, 1, 0, 1), (Indices{7, 4, 3, 6, 0, 2, 5, 1}));
}

TEST(Sampler, ranks_times_batch_sees_what_one_rank_at_that_batch_sees_in_every_step) {
  for (const Case& one : all_cases(kDealt)) {
    Sampler many = one.make();
    Sampler single = Case{one.sampling, one.size, 1, one.batch * one.ranks}.make();
    ASSERT_EQ(many.steps_per_epoch(), single.steps_per_epoch()) << one.name();
    for (std::int64_t step = 0; step < single.steps_per_epoch(); ++step) {
      ASSERT_EQ(draw_step(many, 1, step, one.ranks), draw(single, 1, step, 0)) << one.name() << ", step " << step;
    }
  }
}

TEST(Sampler, parts_of_a_step_differ_by_at_most_one_sample_and_add_up) {
  for (const Case& one : all_cases(kAll)) {
    const Sampler sampler = one.make();
    std::int64_t total = 0;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const bool last = step + 1 == sampler.steps_per_epoch();
      std::int64_t sum = 0, least = one.size, most = 0;
      for (int rank = 0; rank < one.ranks; ++rank) {
        const std::int64_t samples = sampler.samples(step, rank);
        sum += samples;
        least = std::min(least, samples);
        most = std::max(most, samples);
      }
      ASSERT_EQ(sum, sampler.samples_of_all_ranks(step)) << one.name();
      ASSERT_LE(most - least, 1) << one.name();
      ASSERT_TRUE(last || least == std::min(one.batch, one.size)) << one.name();
      total += sum;
    }
    ASSERT_EQ(total, one.size) << one.name();
  }
}

TEST(Sampler, whole_lets_every_rank_see_every_sample_once_before_any_twice) {
  for (const Case& one : all_cases({Sampling::kWhole})) {
    Sampler sampler = one.make();
    for (int rank = 0; rank < one.ranks; ++rank) {
      Indices walk;
      for (std::int64_t epoch = 0; walk.size() < 2 * static_cast<std::size_t>(one.size); ++epoch) {
        for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
          const Indices part = draw(sampler, epoch, step, rank);
          walk.insert(walk.end(), part.begin(), part.end());
        }
        ASSERT_LT(epoch, 1000) << one.name();
      }
      for (std::size_t pass = 0; (pass + 1) * static_cast<std::size_t>(one.size) <= walk.size(); ++pass) {
        const auto begin = walk.begin() + static_cast<std::ptrdiff_t>(pass) * one.size;
        ASSERT_EQ(sorted(Indices(begin, begin + one.size)), counting_up(one.size)) << one.name() << ", rank " << rank;
      }
    }
  }
}

TEST(Sampler, whole_gives_every_rank_an_order_of_its_own) {
  Sampler sampler(Sampling::kWhole, 1000, 3, 50, 1, {});
  std::set<Indices> orders;
  for (int rank = 0; rank < 3; ++rank) orders.insert(draw(sampler, 0, 0, rank));
  EXPECT_EQ(orders.size(), 3u);
}

TEST(Sampler, asking_in_another_order_changes_nothing) {
  for (const Sampling sampling : kAll) {
    const Case one{sampling, 100, 3, 7};
    Sampler forward = one.make(), backward = one.make();
    std::map<std::tuple<std::int64_t, std::int64_t, int>, Indices> expected;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      for (std::int64_t step = 0; step < forward.steps_per_epoch(); ++step) {
        for (int rank = 0; rank < 3; ++rank) expected[{epoch, step, rank}] = draw(forward, epoch, step, rank);
      }
    }
    for (auto entry = expected.rbegin(); entry != expected.rend(); ++entry) {
      const auto& [epoch, step, rank] = entry->first;
      ASSERT_EQ(draw(backward, epoch, step, rank), entry->second);
    }
  }
}

TEST(Sampler, seed_and_epoch_each_make_another_order) {
  for (const Sampling sampling : kAll) {
    const Case one{sampling, 200, 1, 200};
    Sampler sampler = one.make(1), other = one.make(2), same = one.make(1);
    const Indices first_epoch = draw_epoch(sampler, 0, 1);
    EXPECT_NE(first_epoch, counting_up(200));
    EXPECT_NE(first_epoch, draw_epoch(sampler, 1, 1));
    EXPECT_NE(first_epoch, draw_epoch(other, 0, 1));
    EXPECT_EQ(first_epoch, draw_epoch(same, 0, 1));
  }
}

// If whole batches were shuffled, every pair of samples would stay together. If samples are shuffled, a pair stays
// together with probability 9 / 999.
TEST(Sampler, samples_are_shuffled_one_by_one_not_as_ready_made_batches) {
  for (const Sampling sampling : kAll) {
    Sampler sampler = Case{sampling, 1000, 1, 10}.make();
    std::vector<std::int64_t> batch_of(1000);
    for (std::int64_t step = 0; step < 100; ++step) {
      for (const std::int64_t index : draw(sampler, 0, step, 0)) batch_of[static_cast<std::size_t>(index)] = step;
    }
    int together = 0, pairs = 0;
    for (std::int64_t step = 0; step < 100; ++step) {
      const Indices batch = draw(sampler, 1, step, 0);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j, ++pairs) {
          together += batch_of[static_cast<std::size_t>(batch[i])] == batch_of[static_cast<std::size_t>(batch[j])];
        }
      }
    }
    EXPECT_EQ(pairs, 4500);
    EXPECT_LT(together, 90) << "expected 41, deviation 6.4";  // 7 standard deviations
    EXPECT_GT(together, 5);
  }
}

// A sample must be equally likely at every place of the permutation. A chi-square of 60 with 19 degrees of freedom has
// a probability far below 1e-5.
TEST(Sampler, every_place_of_the_order_is_equally_likely) {
  std::vector<int> count(20);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Sampler sampler(Sampling::kShard, 20, 1, 20, seed, {});
    const Indices order = draw(sampler, 0, 0, 0);
    ++count[static_cast<std::size_t>(std::find(order.begin(), order.end(), 3) - order.begin())];
  }
  double chi_square = 0;
  for (const int places : count) chi_square += (places - 200.0) * (places - 200.0) / 200.0;
  EXPECT_LT(chi_square, 60);
}

TEST(Sampler, stratified_gives_every_prefix_each_class_share_rounded_down_or_up) {
  for (std::int64_t size = 1; size <= 60; ++size) {
    Sampler sampler = Case{Sampling::kStratified, size, 1, size}.make();
    const std::vector<std::int32_t> labels = uneven_labels(size);
    std::vector<std::int64_t> total(3), seen(3);
    for (const std::int32_t label : labels) ++total[static_cast<std::size_t>(label)];
    std::int64_t prefix = 0;
    for (const std::int64_t index : draw(sampler, 0, 0, 0)) {
      ++seen[static_cast<std::size_t>(labels[static_cast<std::size_t>(index)])];
      ++prefix;
      for (std::size_t klass = 0; klass < 3; ++klass) {
        ASSERT_GE(seen[klass], prefix * total[klass] / size) << size << " samples, prefix " << prefix;
        ASSERT_LE(seen[klass], (prefix * total[klass] + size - 1) / size) << size << " samples, prefix " << prefix;
      }
    }
  }
}

TEST(Sampler, stratified_gives_every_part_of_every_step_each_class_share_to_within_two_samples) {
  std::vector<std::int32_t> labels;  // sorted by class, the worst order that a dataset can have
  for (int klass = 0; klass < 10; ++klass)
    labels.insert(labels.end(), 100 + 40 * static_cast<std::size_t>(klass), klass);
  const auto size = static_cast<std::int64_t>(labels.size());
  for (const int ranks : {1, 2, 3, 8}) {
    Sampler sampler(Sampling::kStratified, size, ranks, 32, 3, labels);
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Indices part = draw(sampler, 2, step, rank);
        std::vector<int> count(10);
        for (const std::int64_t index : part)
          ++count[static_cast<std::size_t>(labels[static_cast<std::size_t>(index)])];
        for (std::size_t klass = 0; klass < 10; ++klass) {
          const double share = static_cast<double>(part.size()) * (100.0 + 40.0 * static_cast<double>(klass)) /
                               static_cast<double>(size);
          ASSERT_LT(std::abs(count[klass] - share), 2.0) << ranks << " ranks, step " << step << ", class " << klass;
        }
      }
    }
  }
}

TEST(Sampler, more_ranks_than_samples_is_refused) {
  expect_refusal(refusal_of([] { Sampler(Sampling::kShard, 3, 4, 1, 0, {}); }), ExitCode::kConfiguration,
                 {"4 ranks but only 3 training samples"});
  EXPECT_EQ(refusal_of([] { Sampler(Sampling::kShard, 3, 3, 1, 0, {}); }).code, ExitCode::kDone);
}

TEST(Sampler, no_samples_or_no_batch_is_refused) {
  EXPECT_EQ(refusal_of([] { Sampler(Sampling::kShard, 0, 1, 1, 0, {}); }).code, ExitCode::kConfiguration);
  EXPECT_EQ(refusal_of([] { Sampler(Sampling::kShard, 9, 1, 0, 0, {}); }).code, ExitCode::kConfiguration);
  EXPECT_EQ(refusal_of([] { Sampler(Sampling::kShard, 9, 1, -1, 0, {}); }).code, ExitCode::kConfiguration);
}

TEST(Sampler, the_largest_batch_that_can_be_typed_means_all_samples) {
  Sampler sampler(Sampling::kShard, 10, 3, INT64_MAX, 0, {});
  EXPECT_EQ(sampler.steps_per_epoch(), 1);
  EXPECT_EQ(sampler.samples(0, 0) + sampler.samples(0, 1) + sampler.samples(0, 2), 10);
  EXPECT_EQ(sorted(draw_epoch(sampler, 0, 3)), counting_up(10));
}

}  // namespace
}  // namespace eave
