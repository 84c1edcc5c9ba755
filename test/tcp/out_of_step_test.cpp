// Ranks over tcp that are in different calls, as those of a method with an error are: the watchdog names the calls.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "eave/check.h"
#include "guard/guard.h"
#include "guard/watchdog.h"
#include "test/expectations.h"
#include "transport/tcp/tcp_job.h"

namespace eave {
namespace {

struct Said {
  std::mutex mutex;
  std::vector<std::string> lines;
};

// Runs `body` on ranks of these hosts. Within a host, sums go through shared memory.
std::string watched(const std::vector<int>& hosts, const std::function<void(Transport&)>& body) {
  Said said;
  run_tcp_threads(static_cast<int>(hosts.size()), hosts,
                  [&](Transport& transport) {
                    WatchdogSettings settings;
                    settings.limits = {{8, "limit"}, {8, "limit"}, {8, "limit"}};
                    settings.hosts = {"a", "b", "c"};
                    settings.say = [&](const std::string& line) {
                      const std::lock_guard lock(said.mutex);
                      said.lines.push_back(line);
                    };
                    settings.leave = [&](ExitCode code) { transport.abort(code); };
                    RankProgress progress;
                    Watchdog watchdog(*transport.control(), *transport.calls(), progress, transport.rank(), settings);
                    const Guard guard(transport.control(), {&watchdog}, std::chrono::milliseconds(5));
                    body(transport);
                  },
                  {"tcp", true});
  std::string all;  // a warning of a long wait may come first
  for (const std::string& line : said.lines) all += line + "\n";
  return all;
}

// Both ranks take themselves for the root, so both only send. The messages of the broadcast have the lengths of those
// of the sum behind it.
TEST(TcpRanksOutOfStep, are_named_when_each_broadcasts_as_the_root) {
  for (const std::vector<int>& hosts : {std::vector{0, 1}, std::vector{0, 0}}) {
    std::vector<float> sums(2);
    const std::string line = watched(hosts, [&](Transport& transport) {
      std::vector<float> values(1000, 1.0f);
      transport.all_reduce_sum(values).wait();
      transport.broadcast(values, transport.rank()).wait();
      values.assign(values.size(), 10.0f);
      transport.all_reduce_sum(values).wait();
      sums[static_cast<std::size_t>(transport.rank())] = values.front();
    });
    EXPECT_TRUE(says(line, "out of step: at meeting 1 of all"));
    EXPECT_TRUE(says(line, "a broadcast of 4000 bytes from rank 0"));
    EXPECT_TRUE(says(line, "a broadcast of 4000 bytes from rank 1"));
    EXPECT_EQ(sums, std::vector<float>(2)) << "no rank goes on with the other's stale values";
  }
}

TEST(TcpRanksOutOfStep, are_named_when_one_of_three_takes_another_rank_for_the_root) {
  const std::string line = watched({0, 1, 2}, [](Transport& transport) {
    std::vector<float> values(999, 1.0f);
    transport.broadcast(values, transport.rank() == 2 ? 2 : 0).wait();
    transport.all_gather("the end");
  });
  EXPECT_TRUE(says(line, "out of step: at meeting 0 of all"));
  EXPECT_TRUE(says(line, "a broadcast of 3996 bytes from rank 2"));
}

}  // namespace
}  // namespace eave
