// Transport::split: transports between some of a job's ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "eave/decorators.h"
#include "eave/job.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

class SplitContract : public testing::TestWithParam<Ranks> {};

TEST_P(SplitContract, gives_each_part_a_transport_of_its_own) {
  on_ranks(GetParam(), [](Transport& job) {
    const std::unique_ptr<Transport> part = job.split(job.rank() % 2);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->rank(), job.rank() / 2);
    EXPECT_EQ(part->size(), (job.size() + 1 - job.rank() % 2) / 2);
    EXPECT_EQ(part->control(), nullptr);
    std::vector<float> values = uneven_numbers(part->rank(), 70000);
    part->all_reduce_sum(values).wait();
    std::vector<int> ranks;
    for (int rank = 0; rank < part->size(); ++rank) ranks.push_back(rank);
    EXPECT_TRUE(same_bits(values, sum_in_order(ranks, values.size())));
    const std::vector<std::string> texts = part->all_gather(std::to_string(job.rank()));
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(texts[i], std::to_string(2 * static_cast<int>(i) + job.rank() % 2));
  });
}

TEST_P(SplitContract, gives_nothing_to_ranks_that_take_no_part) {
  on_ranks(GetParam(), [](Transport& job) {
    const bool takes_part = job.rank() == job.size() - 1;
    const std::unique_ptr<Transport> part = job.split(takes_part ? 7 : -1);
    EXPECT_EQ(part != nullptr, takes_part);
    if (part) {
      EXPECT_EQ(part->size(), 1);
      EXPECT_EQ(part->all_gather("alone"), std::vector<std::string>{"alone"});
    }
  });
}

// Adds the first value of each request to its sum, and answers with the sum.
class Adder final : public Service {
 public:
  bool answer(int, std::int64_t, Slice values) override {
    sum_ += values[0];
    values[0] = sum_;
    return true;
  }

 private:
  float sum_ = 0;
};

TEST_P(SplitContract, answers_requests_in_a_part) {
  on_ranks(GetParam(), [](Transport& job) {
    const std::unique_ptr<Transport> part = job.split(0);
    Adder adder;
    part->serve(part->rank() == 0 ? &adder : nullptr);
    float value = 1;
    const ServiceRequest request{0, 0, Slice(&value, 1)};
    part->request({&request, 1}).wait();
    EXPECT_GE(value, 1);
    EXPECT_LE(value, static_cast<float>(part->size()));
    part->serve(nullptr);
  });
}

TEST_P(SplitContract, can_be_done_again_and_the_job_goes_on) {
  on_ranks(GetParam(), [](Transport& job) {
    for (int round = 0; round < 20; ++round) {
      {
        const std::unique_ptr<Transport> part = job.split(job.rank() <= round % job.size() ? 0 : -1);
        std::vector<float> values(100, 1.0f);
        if (part) part->all_reduce_sum(values).wait();
        EXPECT_EQ(values[99], part ? static_cast<float>(1 + round % job.size()) : 1.0f);
      }
      std::vector<float> values(10, 1.0f);
      job.all_reduce_sum(values).wait();
      EXPECT_EQ(values[9], static_cast<float>(job.size()));
    }
  });
}

TEST_P(SplitContract, is_refused_by_decorators) {
  on_ranks(GetParam(), [](Transport& job) {
    const std::unique_ptr<CountingTransport> counting = make_counting_transport(job);
    EXPECT_THROW(counting->split(0), Error);
  });
}

// The transports without decorators, which do not support split().
std::vector<Ranks> bare_ranks() {
  std::vector<Ranks> all = ranks_under_test();
  std::erase_if(all, [](const Ranks& ranks) {
    return std::ranges::none_of(transport_kinds(), [&](const auto& kind) { return kind.name == ranks.transport; });
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(On, SplitContract, testing::ValuesIn(bare_ranks()), name_of_ranks);

// A rank fails while other ranks wait for it, some in its part and one in the whole job.
TEST(Split, ends_all_where_a_rank_fails_in_its_part) {
  const JobResult ended = run_job({"threads", 4}, [](Transport& job) {
    const std::unique_ptr<Transport> part = job.split(job.rank() < 3 ? 0 : -1);
    if (!part) {
      job.all_gather("waits for the others");
      return;
    }
    if (part->rank() == 1) throw Error(ExitCode::kDiverged, "crafted failure in a part");
    std::vector<float> values(100, 1.0f);
    for (;;) part->all_reduce_sum(values).wait();
  });
  EXPECT_EQ(ended.code, 76);
}

}  // namespace
}  // namespace eave
