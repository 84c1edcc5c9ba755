// Sockets at their limits: hosts that vanish, and processes that may open no more files.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eave/check.h"
#include "test/expectations.h"
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
  EXPECT_EXIT(be_first(2), testing::ExitedWithCode(71),
              "connection of another rank: Too many open files.*hard limit raised .`ulimit -Hn`");
}

TEST_F(TcpFileLimits, end_a_meeting_with_the_reason_before_it_begins) {
  EXPECT_EXIT(be_first(1), testing::ExitedWithCode(71),
              "eventfd: Too many open files.*hard limit raised .`ulimit -Hn`");
}

// Lets accept4(2) fail with this error from now on.
bool let_accept_fail(std::uint32_t error) {
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_accept4, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int kNoFilters = 3;

// 0: the listener goes on; kNoFilters: this machine allows no filters of system calls.
[[noreturn]] void accept_in_vain(int error) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  if (!let_accept_fail(static_cast<std::uint32_t>(error))) std::_Exit(kNoFilters);
  try {
    std::_Exit(accept_from(listener) ? 1 : 0);
  } catch (const Error& failure) {
    std::_Exit(static_cast<int>(failure.code()));
  }
}

bool goes_on_or_no_filters(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoFilters);
}

TEST_F(TcpFileLimits, are_no_reason_to_end_a_meeting_if_memory_is_short_for_now) {
  for (const int error : {ENOBUFS, ENOMEM, ECONNABORTED})
    EXPECT_EXIT(accept_in_vain(error), goes_on_or_no_filters, "") << error;
  EXPECT_EQ(code_of([] { accept_from(Socket(::dup(STDERR_FILENO))); }), ExitCode::kResource) << "no socket";
}

TEST_F(TcpFileLimits, are_raised_as_far_as_a_process_may) {
  EXPECT_EXIT(meet_with_a_low_soft_limit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace eave
