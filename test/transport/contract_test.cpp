// The contract of Transport, for each transport and number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "eave/agreement.h"
#include "test/allocations.h"
#include "test/expectations.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"
#include "test/transport/timing.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

class TransportContract : public testing::TestWithParam<Ranks> {};

TEST_P(TransportContract, knows_its_rank_size_and_name) {
  on_ranks(GetParam(), [&](Transport& transport) {
    EXPECT_EQ(transport.size(), GetParam().count);
    EXPECT_EQ(transport.name(), GetParam().transport);
    const std::vector<std::string> ranks = transport.all_gather(std::to_string(transport.rank()));
    for (int rank = 0; rank < transport.size(); ++rank)
      EXPECT_EQ(ranks[static_cast<std::size_t>(rank)], std::to_string(rank));
  });
}

TEST_P(TransportContract, sums_integers_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    for (std::size_t count : {0, 1, 2, 3, 5, 64, 1000, 65537, 3000001}) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(transport.rank() + 1 + i % 1021);
      transport.all_reduce_sum(values).wait();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        wrong += values[i] != static_cast<float>(p * (p + 1) / 2 + p * static_cast<int>(i % 1021));
      EXPECT_EQ(wrong, 0u) << "of " << count;
    }
  });
}

TEST_P(TransportContract, sums_in_rank_order_to_the_same_bits_everywhere) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<int> ranks = all_ranks(transport.size());
    for (std::size_t count : {1, 7, 4097, 200003}) {
      const std::vector<float> expected = sum_in_order(ranks, count);
      for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<float> values = uneven_numbers(transport.rank(), count);
        transport.all_reduce_sum(values).wait();
        EXPECT_TRUE(same_bits(values, expected)) << count << " values, repeat " << repeat;
      }
    }
    std::ranges::reverse(ranks);
    std::vector<float> backwards = sum_in_order(ranks, 4097);
    std::ranges::reverse(ranks);
    if (transport.size() > 2) {
      EXPECT_FALSE(same_bits(backwards, sum_in_order(ranks, 4097))) << "the numbers do not show the order";
    }
  });
}

TEST_P(TransportContract, carries_out_operations_in_the_order_of_calls) {
  on_ranks(GetParam(), [](Transport& transport) {
    const float p = static_cast<float>(transport.size());
    std::vector<float> values(5000, transport.rank() == transport.size() - 1 ? 3.0f : 0.0f);
    std::vector<Pending> pending;
    for (int k = 0; k < 5; ++k) pending.push_back(transport.all_reduce_sum(values));
    pending.push_back(transport.broadcast(values, 0));
    for (int k = 0; k < 3; ++k) pending.push_back(transport.all_reduce_sum(values));
    EXPECT_EQ(transport.all_gather("between").size(), static_cast<std::size_t>(transport.size()));
    EXPECT_TRUE(pending.back().done()) << "all_gather came after it";
    for (Pending& each : pending) each.wait();
    EXPECT_EQ(values, std::vector<float>(5000, 3 * std::pow(p, 7.0f)));
  });
}

TEST_P(TransportContract, carries_out_many_sums_at_once) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<int> ranks = all_ranks(transport.size());
    const std::vector<std::size_t> counts = {40003, 1, 0, 7, 200003, 0, 0, 4097, 65536, 3, 100000, 2};
    std::vector<std::vector<float>> values;
    for (std::size_t count : counts) values.push_back(uneven_numbers(transport.rank(), count));
    std::vector<Pending> pending;
    for (std::vector<float>& each : values) pending.push_back(transport.all_reduce_sum(each));
    for (Pending& each : pending) each.wait();
    for (std::size_t k = 0; k < counts.size(); ++k)
      EXPECT_TRUE(same_bits(values[k], sum_in_order(ranks, counts[k]))) << "number " << k;
  });
}

// The time after which late ranks come. ThreadSanitizer makes a sum several times slower.
#if defined(__SANITIZE_THREAD__)
constexpr std::chrono::milliseconds kLate = 2s;
#else
constexpr std::chrono::milliseconds kLate = 500ms;
#endif

// Rank 0 posts a second sum at once. The other ranks post theirs only after the first sum is done and some time has
// passed. Rank 0 must not wait for them to end the first.
TEST_P(TransportContract, ends_a_sum_although_others_are_late_for_the_next) {
  if (GetParam().count == 1) return;
  on_ranks(GetParam(), [](Transport& transport) {
    for (std::size_t count : {1, 1000, 300007}) {
      std::vector<float> first(count, 1.0f), second(count, 2.0f);
      transport.all_gather("start");
      Pending one = transport.all_reduce_sum(first), two;
      const auto start = std::chrono::steady_clock::now();
      if (transport.rank() == 0) two = transport.all_reduce_sum(second);
      one.wait();
      if (transport.rank() == 0) {
        EXPECT_LT(std::chrono::steady_clock::now() - start, kLate * 9 / 10) << count;
        EXPECT_FALSE(two.done());
      } else {
        std::this_thread::sleep_for(kLate);
        two = transport.all_reduce_sum(second);
      }
      two.wait();
      EXPECT_EQ(first, std::vector<float>(count, static_cast<float>(transport.size())));
      EXPECT_EQ(second, std::vector<float>(count, 2 * static_cast<float>(transport.size())));
    }
  });
}

TEST_P(TransportContract, broadcasts_from_each_root) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (int root = 0; root < transport.size(); ++root)
      for (std::size_t count : {0, 1, 3, 1000, 300007}) {
        const std::vector<float> expected = uneven_numbers(100 + root, count);
        std::vector<float> values = transport.rank() == root ? expected : std::vector<float>(count, -1.0f);
        transport.broadcast(values, root).wait();
        EXPECT_TRUE(same_bits(values, expected)) << count << " values from " << root;
      }
  });
}

TEST_P(TransportContract, gathers_texts_of_any_length) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto text_of = [](int rank, std::size_t length) {
      std::string text(length, static_cast<char>('a' + rank));
      if (length > 2) text[length / 2] = '\0';
      return text;
    };
    const auto gathers = [&](auto length_of) {
      const std::vector<std::string> all = transport.all_gather(text_of(transport.rank(), length_of(transport.rank())));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(transport.size()));
      for (int rank = 0; rank < transport.size(); ++rank)
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], text_of(rank, length_of(rank)));
    };
    gathers([](int) { return std::size_t{0}; });
    gathers([](int rank) { return static_cast<std::size_t>(rank); });
    gathers([&](int rank) { return static_cast<std::size_t>(transport.size() - 1 - rank) * 1000; });
    gathers([](int rank) { return (std::size_t{1} << 20) + static_cast<std::size_t>(rank); });
  });
}

TEST_P(TransportContract, gathers_texts_on_rank_0_alone_and_hands_its_own_to_all) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::size_t length : {0, 1, 247, 248, 249, 5000, 3 << 20}) {
      const auto text_of = [&](int rank) { return std::string(length, static_cast<char>('a' + rank)); };
      const std::vector<std::string> all = transport.gather(text_of(transport.rank()));
      ASSERT_EQ(all.size(), transport.rank() == 0 ? static_cast<std::size_t>(transport.size()) : 0);
      for (std::size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], text_of(static_cast<int>(rank)));
      EXPECT_EQ(transport.broadcast_text(text_of(transport.rank())), text_of(0));
    }
  });
}

TEST_P(TransportContract, scatters_the_texts_of_rank_0) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::size_t length : {0, 1, 240, 248, 249, 5000, 3 << 20}) {
      const auto text_of = [&](int rank) {
        return std::string(length * static_cast<std::size_t>(rank % 3), static_cast<char>('a' + rank));
      };
      std::vector<std::string> texts;
      for (int rank = 0; rank < transport.size() && transport.rank() == 0; ++rank) texts.push_back(text_of(rank));
      EXPECT_EQ(transport.scatter(texts), text_of(transport.rank()));
      EXPECT_EQ(transport.broadcast_text(text_of(transport.rank())), text_of(0)) << "they stay in step";
    }
  });
}

TEST_P(TransportContract, an_exchange_proceeds_while_the_rank_computes) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<float> values(4 << 20, 1.0f);
    Pending pending = transport.all_reduce_sum(values);
    const auto start = std::chrono::steady_clock::now();
    volatile double work = 0;  // the compute thread never waits and never calls the transport
    while (!pending.done() && std::chrono::steady_clock::now() - start < 60s)
      for (int i = 0; i < 100000; ++i) work = work + 1;
    EXPECT_TRUE(pending.done());
    EXPECT_LT(pending.wait(), 0.001) << "nothing was left to wait for";
    EXPECT_EQ(values.back(), static_cast<float>(transport.size()));
  });
}

TEST_P(TransportContract, wait_returns_the_seconds_it_blocked) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<float> values(1000, 1.0f);
    transport.all_reduce_sum(values).wait();
    const bool late = transport.rank() == transport.size() - 1;
    if (late) std::this_thread::sleep_for(200ms);
    const double seconds = transport.all_reduce_sum(values).wait();
    if (!late) {
      EXPECT_GT(seconds, 0.1) << "the last rank came 0.2 s late";
    }
    EXPECT_LT(seconds, 30);
    EXPECT_EQ(Pending().wait(), 0);
  });
}

TEST_P(TransportContract, waiting_for_a_late_rank_costs_little_processor_time) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<float> values(1000, 1.0f);
    transport.all_reduce_sum(values).wait();
    const double before = cpu_seconds_of_process();
    if (transport.rank() == transport.size() - 1) std::this_thread::sleep_for(1s);
    transport.all_reduce_sum(values).wait();
    EXPECT_LT(cpu_seconds_of_process() - before, 0.1) << "a tenth of the second";
  });
}

TEST_P(TransportContract, destroying_a_pending_leaves_its_slice_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<float> values(100000, 1.0f);
      { const Pending dropped = transport.all_reduce_sum(values); }
      EXPECT_EQ(values.back(), static_cast<float>(transport.size()));
    }
  });
}

TEST_P(TransportContract, allocates_nothing_after_the_first_operations) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<float> values(100000);
    const auto exchange = [&] {
      Pending first = transport.all_reduce_sum(Slice(values).first(50000));
      Pending second = transport.all_reduce_sum(Slice(values).last(50000));
      first.wait();
      second.wait();
    };
    for (int step = 0; step < 3; ++step) exchange();
    const long before = allocations();  // if ranks are threads, it counts all ranks; all are past their first steps
    for (int step = 0; step < 50; ++step) exchange();
    const long after = allocations();
    exchange();  // keeps each rank here until all ranks have read the counter
    EXPECT_EQ(after - before, 0);
  });
}

TEST_P(TransportContract, sums_doubles_in_rank_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    const double tiny = 1e-20 * (transport.rank() + 1);
    const std::vector<double> sum = sum_over_ranks(transport, {1.0, tiny});
    double expected = 0;
    for (int rank = 0; rank < transport.size(); ++rank) expected += 1e-20 * (rank + 1);
    EXPECT_EQ(sum, (std::vector<double>{1.0 * transport.size(), expected}));
    EXPECT_TRUE(sum_over_ranks(transport, {}).empty());
  });
}

std::string agreed_message(Transport& transport, const std::function<void()>& stage, ExitCode code) {
  try {
    agree(transport, stage);
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST_P(TransportContract, agrees_on_what_failed_where) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    bool ran = false;
    agree(transport, [&] { ran = true; });
    EXPECT_TRUE(ran);
    const auto everywhere = [] { throw Error(ExitCode::kInputMissing, "no such file: x"); };
    EXPECT_EQ(agreed_message(transport, everywhere, ExitCode::kInputMissing), "no such file: x");
    const auto on_last = [&] {
      if (transport.rank() == p - 1) throw Error(ExitCode::kBadData, "bad magic");
    };
    const std::string message = agreed_message(transport, on_last, ExitCode::kBadData);
    EXPECT_TRUE(says(message, "bad magic"));
    EXPECT_EQ(message.find("rank " + std::to_string(p - 1) + " on ") == 0, p > 1) << message;
    const auto with_standard_exception = [] { throw std::runtime_error("oops"); };
    EXPECT_TRUE(says(agreed_message(transport, with_standard_exception, ExitCode::kInternal), "oops"));
  });
}

INSTANTIATE_TEST_SUITE_P(On, TransportContract, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
