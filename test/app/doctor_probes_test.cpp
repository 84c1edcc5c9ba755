// Tests the probes in which all ranks take part. The ranks are threads.
#include "app/doctor/doctor_probes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "eave/decorators.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

TEST(DoctorFacts, come_through_a_message_as_they_are) {
  DoctorFacts facts;
  facts.host = "a host";
  facts.core_quota = 1.5;
  facts.memory_available_bytes = (std::int64_t{1} << 50) + 1;
  facts.address_space_left_bytes = std::int64_t{5} << 30;
  facts.has_rdma = true;
  facts.gpus = {"a host", {"GPU-1", "GPU-2"}, ""};
  facts.interfaces = {{"eth0", "10.0.0.1/8", 1000}, {"eth1", "", 0}};
  facts.network_settings = {"btl=tcp,self", ""};
  facts.run_directory = {"/a\nb", "why", false, 7};
  facts.why_no_data = "two\nlines";
  facts.clock_ahead_s = -0.125;
  const DoctorFacts back = unpack_facts(pack(facts));
  EXPECT_EQ(pack(back), pack(facts));
  EXPECT_EQ(back.core_quota, 1.5);
  EXPECT_EQ(back.memory_available_bytes, facts.memory_available_bytes);
  EXPECT_EQ(back.address_space_left_bytes, facts.address_space_left_bytes);
  EXPECT_EQ(back.address_space_limit_bytes, -1);
  EXPECT_EQ(back.gpus.ids, facts.gpus.ids);
  EXPECT_EQ(back.interfaces[0].megabits_per_s, 1000);
  EXPECT_EQ(back.network_settings, facts.network_settings);
  EXPECT_EQ(back.run_directory.place, "/a\nb");
  EXPECT_FALSE(back.run_directory.sees_first_rank);
  EXPECT_EQ(back.clock_ahead_s, -0.125);
}

TEST(DoctorRunDirectory, that_is_a_link_without_a_target_is_a_problem) {
  const TemporaryDirectory directory;
  fs::create_symlink("gone", directory.path() / "link");
  for (const std::string below : {"/link", "/link/run"}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      const RunDirectoryFacts facts = probe_run_directory(transport, directory.path().string() + below);
      EXPECT_NE(facts.why_not_written.find("link is a symbolic link to gone, which is not there"), std::string::npos)
          << facts.why_not_written;
    });
  }
}

TEST(DoctorRunDirectory, is_seen_by_all_and_left_as_it_was) {
  const TemporaryDirectory directory;
  for (const std::string below : {"", "/", "/run/of/mine"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      const RunDirectoryFacts facts = probe_run_directory(transport, directory.path().string() + below);
      EXPECT_EQ(facts.place, directory.path().string());
      EXPECT_EQ(facts.why_not_written, "");
      EXPECT_TRUE(facts.sees_first_rank);
      EXPECT_GT(facts.free_bytes, 0);
    });
    EXPECT_TRUE(fs::is_empty(directory.path()));
  }
}

TEST(DoctorRunDirectory, of_another_host_is_noticed) {
  const TemporaryDirectory first, other;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const bool is_apart = transport.rank() == 2;
    const RunDirectoryFacts facts = probe_run_directory(transport, (is_apart ? other : first).path().string());
    EXPECT_EQ(facts.sees_first_rank, !is_apart);
    EXPECT_EQ(facts.why_not_written, "");
  });
  EXPECT_TRUE(fs::is_empty(first.path()) && fs::is_empty(other.path()));
}

TEST(DoctorRunDirectory, that_cannot_be_written_blames_nobody_for_not_seeing_it) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const RunDirectoryFacts facts = probe_run_directory(transport, "/proc/eave/runs");
    EXPECT_EQ(facts.place, "/proc");
    EXPECT_NE(facts.why_not_written.find("cannot create /proc/"), std::string::npos);
    EXPECT_TRUE(facts.sees_first_rank);
  });
}

TEST(DoctorClock, tells_how_far_it_is_ahead_of_that_of_rank_0) {
  on_ranks({"threads", 4}, [&](Transport& transport) {
    const int rank = transport.rank();
    const auto clock = [rank] { return system_microseconds() + (rank - 1) * 10'000'000; };
    const double ahead = measure_clock(transport, rank != 2, clock);
    EXPECT_NEAR(ahead, rank == 2 ? 0 : 10 * rank, 0.5);
  });
}

TEST(DoctorLinks, are_planned_so_that_no_host_is_in_two_pairs_of_a_round) {
  for (const int hosts : {1, 2, 3, 4, 7, 40}) {
    for (const int ranks_of_host : {1, 2, 12}) {
      std::vector<std::vector<int>> by_host(static_cast<std::size_t>(hosts));
      for (int rank = 0; rank < hosts * ranks_of_host; ++rank)
        by_host[static_cast<std::size_t>(rank % hosts)].push_back(rank);
      std::set<std::pair<int, int>> between;
      std::size_t within = 0;
      for (const Pairs& pairs : plan_links(by_host)) {
        std::set<int> busy;
        for (const auto& [first, second] : pairs) {
          EXPECT_LT(first, second);
          EXPECT_TRUE(busy.insert(first % hosts).second);
          if (first % hosts == second % hosts) {
            ++within;
          } else {
            EXPECT_TRUE(busy.insert(second % hosts).second);
            EXPECT_TRUE(between.emplace(first, second).second);
          }
        }
      }
      EXPECT_EQ(within, static_cast<std::size_t>(hosts * std::min(8, ranks_of_host - 1)));
      EXPECT_EQ(between.size(), static_cast<std::size_t>(hosts <= 17 ? hosts * (hosts - 1) / 2 : 16 * hosts / 2));
    }
  }
}

// The shaped link delays each message by 2 ms in each direction and carries 40 MB/s.
TEST(DoctorLinks, are_as_slow_as_they_are) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const auto shaped = make_shaped_transport(transport, {2e-3, 40e6});
    const std::vector<LinkTime> links = measure_links(*shaped, plan_links({{0, 1}, {2}, {3}}));
    ASSERT_EQ(links.size(), 4U);
    for (const LinkTime& link : links) {
      EXPECT_GE(link.seconds, 2e-3);
      EXPECT_GT(link.bytes_per_second, 0);
      EXPECT_LE(link.bytes_per_second, 40e6);
    }
  });
}

}  // namespace
}  // namespace eave
