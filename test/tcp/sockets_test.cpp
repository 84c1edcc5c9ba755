// Sockets at their limits: hosts that vanish, and processes that may open no more files.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eave/check.h"
#include "transport/tcp/tcp_meeting.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

Socket connected_to(const Socket& listener) {
  std::string why;
  auto socket = connect_to(address_of(listener), TcpClock::now() + 5s, why);
  EXPECT_TRUE(socket) << why;
  return std::move(*socket);
}

int option_of(const Socket& socket, int level, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  getsockopt(socket.descriptor(), level, option, &value, &length);
  return value;
}

TEST(TcpSocket, notices_after_ten_minutes_that_the_other_host_has_vanished) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  const Socket theirs = connected_to(listener);
  std::optional<Socket> mine;
  while (!mine) mine = accept_from(listener);
  for (const Socket* const each : {&theirs, static_cast<const Socket*>(&*mine)}) {
    EXPECT_EQ(option_of(*each, SOL_SOCKET, SO_KEEPALIVE), 1);
    const int seconds = option_of(*each, IPPROTO_TCP, TCP_KEEPIDLE) +
                        option_of(*each, IPPROTO_TCP, TCP_KEEPINTVL) * option_of(*each, IPPROTO_TCP, TCP_KEEPCNT);
    EXPECT_EQ(seconds, 600);
    EXPECT_EQ(option_of(*each, IPPROTO_TCP, TCP_USER_TIMEOUT), 0) << "it would end connections to stopped ranks";
    EXPECT_EQ(option_of(*each, IPPROTO_TCP, TCP_NODELAY), 1);
  }
}

// The limits are those of a process, so each of these tests has its own.
class TcpFileLimits : public testing::Test {
 protected:
  TcpFileLimits() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void allow_files(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// From now on this process can open so many files.
void allow_more_files(std::size_t count) {
  std::vector<int> free;
  while (free.size() <= count) free.push_back(::dup(STDERR_FILENO));
  for (const int each : free) ::close(each);
  allow_files(static_cast<rlim_t>(free.back()), static_cast<rlim_t>(free.back()));
}

// Ends this process as rank 0 of a meeting to which one other rank has come.
[[noreturn]] void be_first(std::size_t files) {
  TcpMeeting meeting;
  meeting.ranks = 2;
  meeting.limit = 30s;
  Socket listener = listen_at({"127.0.0.1", 0});
  const Socket guest = connected_to(listener);
  meeting.listener = listener.release();
  allow_more_files(files);
  try {
    meet(meeting);
    std::_Exit(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(static_cast<int>(error.code()));
  }
}

[[noreturn]] void meet_with_a_low_soft_limit() {
  allow_files(100, 3000);
  TcpMeeting meeting;
  meeting.ranks = 2;
  meeting.point.host = "127.0.0.1";
  Socket listener = listen_at(meeting.point);
  meeting.point.port = address_of(listener).port;
  TcpMeeting other = meeting;
  other.rank = 1;
  meeting.listener = listener.release();
  {
    const std::jthread second([&] { meet(other); });
    meet(meeting);
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::_Exit(limit.rlim_cur == 3000 ? 0 : 1);
}

TEST_F(TcpFileLimits, end_a_meeting_with_the_reason_if_no_connection_can_be_accepted) {
  EXPECT_EXIT(be_first(2), testing::ExitedWithCode(71), "connection of another rank: Too many open files.*ulimit -n");
}

TEST_F(TcpFileLimits, end_a_meeting_with_the_reason_before_it_begins) {
  EXPECT_EXIT(be_first(1), testing::ExitedWithCode(71), "eventfd: Too many open files.*ulimit -n");
}

TEST_F(TcpFileLimits, are_raised_as_far_as_a_process_may) {
  EXPECT_EXIT(meet_with_a_low_soft_limit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace eave
