// How ranks meet by TCP: who is refused, and that strangers disturb nobody.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eave/check.h"
#include "test/expectations.h"
#include "transport/tcp/tcp_handshake.h"
#include "transport/tcp/tcp_job.h"
#include "transport/tcp/tcp_meeting.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

// The settings of each rank of a job on this host, whose rank 0 has a listener already.
std::vector<TcpMeeting> ranks_that_meet(int ranks, const std::string& host = "127.0.0.1") {
  TcpMeeting meeting;
  meeting.ranks = ranks;
  meeting.limit = 20s;
  Socket listener = listen_at({host, 0});
  meeting.point = {host, address_of(listener).port};
  std::vector<TcpMeeting> all(static_cast<std::size_t>(ranks), meeting);
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)].rank = rank;
  all.front().listener = listener.release();
  return all;
}

struct Outcome {
  int code = 0;
  std::string message;
};

// Returns how each rank ended. While they meet, `beside` runs.
std::vector<Outcome> meet_all(
    const std::vector<TcpMeeting>& all, const std::function<void()>& beside = [] {}) {
  std::vector<Outcome> outcomes(all.size());
  std::vector<MetRanks> met(all.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          met[rank] = meet(all[rank]);
        } catch (const Error& error) {
          outcomes[rank] = {static_cast<int>(error.code()), error.what()};
        }
      });
    beside();
  }
  return outcomes;
}

Socket stranger_at(const TcpAddress& point) {
  std::string why;
  auto socket = connect_to(point, TcpClock::now() + 5s, why);
  EXPECT_TRUE(socket) << why;
  return std::move(*socket);
}

void say(const Socket& socket, const std::string& text) {
  EXPECT_EQ(::send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
}

// Whether the other side ends the connection within 10 s.
bool is_dropped(const Socket& socket) {
  std::array<char, 100> answer{};
  for (const auto end = TcpClock::now() + 10s; TcpClock::now() < end; std::this_thread::sleep_for(5ms)) {
    const auto got = ::recv(socket.descriptor(), answer.data(), answer.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

TEST(TcpMeeting, brings_all_ranks_together_whoever_comes_first) {
  for (int ranks : {1, 2, 5})
    for (const Outcome& outcome : meet_all(ranks_that_meet(ranks))) EXPECT_EQ(outcome.code, 0) << outcome.message;
}

TEST(TcpMeeting, refuses_a_rank_with_another_secret_and_waits_for_the_right_one) {
  std::vector<TcpMeeting> all = ranks_that_meet(2);
  for (TcpMeeting& each : all) each.secret = secret_of("right");
  TcpMeeting wrong = all[1];
  wrong.secret = secret_of("wrong");
  Outcome refused;
  const auto outcomes = meet_all({all[0]}, [&] {
    refused = meet_all({wrong}).front();
    EXPECT_EQ(meet_all({all[1]}).front().code, 0);
  });
  EXPECT_EQ(refused.code, 78);
  EXPECT_TRUE(says(refused.message, "EAVE_MEET_SECRET"));
  EXPECT_EQ(outcomes.front().code, 0) << outcomes.front().message;
}

TEST(TcpMeeting, drops_strangers_and_goes_on) {
  const std::vector<TcpMeeting> all = ranks_that_meet(2);
  const TcpAddress point = all[0].point;
  const auto outcomes = meet_all({all[0]}, [&] {
    const Socket silent = stranger_at(point), half = stranger_at(point), browser = stranger_at(point);
    { const Socket scanner = stranger_at(point); }
    say(browser, "GET / HTTP/1.1\r\nHost: eave\r\n\r\n");
    say(half, "eave-tcp");
    EXPECT_TRUE(is_dropped(browser));
    EXPECT_EQ(meet_all({all[1]}).front().code, 0);
  });
  EXPECT_EQ(outcomes.front().code, 0) << outcomes.front().message;
}

// A rank that is started by hand without the secret, and a port scanner.
TEST(TcpMeeting, tells_ranks_without_the_secret_from_other_programs) {
  std::vector<TcpMeeting> all = ranks_that_meet(2);
  all[0].limit = 1s;
  const auto outcomes = meet_all({all[0]}, [&] {
    say(stranger_at(all[0].point), "GET / HTTP/1.1");
    TcpMeeting wrong = all[1];
    wrong.secret = secret_of("wrong");
    meet_all({wrong});
  });
  EXPECT_TRUE(says(outcomes.front().message, "; 1 connection did not know the job's secret"));
  EXPECT_TRUE(says(outcomes.front().message, "; 1 connection of other programs came"));
}

// Without ending the meeting: it has proved nothing.
TEST(TcpMeeting, names_a_rank_of_another_version) {
  std::vector<TcpMeeting> all = ranks_that_meet(2);
  all[0].limit = 1s;
  const auto outcomes = meet_all({all[0]}, [&] {
    TcpHello hello;
    hello.version = 1;
    hello.from = 1;
    hello.ranks = 2;
    EXPECT_FALSE(greet(stranger_at(all[0].point), hello, all[0].secret, TcpClock::now() + 5s));
  });
  EXPECT_EQ(outcomes.front().code, 69);
  EXPECT_TRUE(says(outcomes.front().message, "; 1 connection came from another version of eave (protocol 1, here 2)"));
}

// It knows the secret, and says it is rank 1, but its messages carry wrong codes.
TEST(TcpMeeting, ends_a_connection_whose_messages_have_wrong_codes) {
  TcpConnection one, other;
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  one.socket = Socket(pair[0]);
  other.socket = Socket(pair[1]);
  one.sends.fill(std::byte{1});
  TcpLinks mine(0, 2), theirs(1, 2);
  mine.connect(1, std::move(one));
  theirs.connect(0, std::move(other));
  theirs.post(0, {1, {}});
  mine.post(1, {1, {}});
  ControlMessage message;
  int from = -1;
  EXPECT_TRUE(mine.take(message, from)) << "that direction's keys agree";
  EXPECT_FALSE(theirs.take(message, from));
  ASSERT_TRUE(theirs.lost());
  EXPECT_EQ(theirs.lost()->rank, 0);
  EXPECT_TRUE(theirs.lost()->sent_changed);
  EXPECT_FALSE(mine.lost()) << "it would accuse the other rank";
  theirs.tell_end(ExitCode::kPeerLost);
  mine.hear_last_words();
  EXPECT_EQ(mine.end_told(), ExitCode::kPeerLost) << "so it ends without a message";
}

TEST(TcpMeeting, names_the_ranks_that_have_not_come) {
  std::vector<TcpMeeting> all = ranks_that_meet(4);
  for (TcpMeeting& each : all) each.limit = 600ms;
  const auto outcomes = meet_all({all[0], all[2]});
  EXPECT_EQ(outcomes.front().code, 69);
  EXPECT_TRUE(says(outcomes.front().message, "ranks 1, 3 have not come to rank 0 at 127.0.0.1:"));
  EXPECT_EQ(outcomes.back().code, 69);
}

TEST(TcpMeeting, says_once_who_is_missing_and_who_is_there) {
  std::vector<TcpMeeting> all = ranks_that_meet(4);
  for (TcpMeeting& each : all) {
    each.limit = 1500ms;
    each.reminder = 400ms;
    each.host = "host" + std::to_string(each.rank) + " machine";
  }
  testing::internal::CaptureStderr();
  meet_all({all[0], all[2]});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(says(said, "has waited for 400 ms at 127.0.0.1:"));
  EXPECT_TRUE(says(said, "of 4 ranks, ranks 1, 3 have not come; rank 2 (host host2) is there"));
  EXPECT_TRUE(says(said, "EAVE_MEET_LIMIT"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST(TcpMeeting, says_that_rank_0_is_missing) {
  std::vector<TcpMeeting> all = ranks_that_meet(3);
  { const Socket closed(all[0].listener); }
  for (TcpMeeting& each : all) {
    each.limit = 900ms;
    each.reminder = 300ms;
  }
  testing::internal::CaptureStderr();
  const auto outcomes = meet_all({all[1], all[2]});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(says(said, "to reach rank 0 at 127.0.0.1:"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_EQ(outcomes.front().code, 69);
  EXPECT_TRUE(says(outcomes.front().message, "within 900 ms"));
}

TEST(TcpMeeting, ends_at_once_if_a_rank_has_come_and_gone) {
  const std::vector<TcpMeeting> all = ranks_that_meet(3);
  const auto begin = TcpClock::now();
  const auto outcomes = meet_all({all[0]}, [&] {
    TcpHello hello;
    hello.from = 1;
    hello.ranks = 3;
    EXPECT_TRUE(greet(stranger_at(all[0].point), hello, all[0].secret, TcpClock::now() + 5s));
  });
  EXPECT_EQ(outcomes.front().code, 69);
  EXPECT_TRUE(says(outcomes.front().message, "rank 1 came to the meeting of the ranks, and ended"));
  EXPECT_LT(TcpClock::now() - begin, 10s) << "less than the limit";
}

TEST(TcpMeeting, takes_addresses_of_ipv6_and_names) {
  for (const char* host : {"::1", "localhost"}) {
    try {
      listen_at({host, 0});
    } catch (const Error& error) {
      GTEST_SKIP() << host << " is no address of this machine: " << error.what();
    }
    for (const Outcome& outcome : meet_all(ranks_that_meet(3, host))) EXPECT_EQ(outcome.code, 0) << outcome.message;
  }
}

TEST(TcpMeeting, listens_at_no_other_address) {
  for (const char* all : {"0.0.0.0", "::"}) EXPECT_EQ(code_of([&] { listen_at({all, 0}); }), ExitCode::kUsage) << all;
  const Socket listener = listen_at({"127.0.0.1", 0});
  const int port = address_of(listener).port;
  std::string why;
  EXPECT_TRUE(connect_to({"127.0.0.1", port}, TcpClock::now() + 5s, why)) << why;
  for (const char* other : {"127.0.0.2", "::1"})
    EXPECT_FALSE(connect_to({other, port}, TcpClock::now() + 5s, why)) << other;
}

// A worker of a data loader is a fork of its rank, and lives on for seconds if the rank is killed.
TEST(TcpSocket, is_not_kept_open_by_a_forked_child) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  const Socket peer = stranger_at(address_of(listener));
  std::optional<Socket> mine;
  while (!mine) mine = accept_from(listener);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(mine->descriptor());  // does not end the parent's connection
    ::pause();
    ::_exit(0);
  }
  say(*mine, "still here");
  std::array<char, 10> answer{};
  for (std::size_t got = 0; got < answer.size();)
    got += static_cast<std::size_t>(
        std::max<ssize_t>(0, ::recv(peer.descriptor(), answer.data(), answer.size() - got, 0)));
  mine.reset();
  EXPECT_TRUE(is_dropped(peer));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(TcpMeeting, refuses_another_number_of_ranks) {
  std::vector<TcpMeeting> all = ranks_that_meet(2);
  all[1].ranks = 3;
  const auto outcomes = meet_all(all);
  EXPECT_EQ(outcomes.front().code, 78);
  EXPECT_TRUE(says(outcomes.front().message, "a job of 3 ranks"));
  EXPECT_EQ(outcomes.back().code, 78) << "69 would mean that the same command may succeed later";
}

TEST(TcpMeeting, refuses_a_rank_that_comes_twice_and_tells_all) {
  std::vector<TcpMeeting> all = ranks_that_meet(3);
  for (TcpMeeting& each : all) each.host = "host" + std::to_string(each.rank) + " machine";
  TcpMeeting twin = all[1];
  twin.host = "other machine";
  Outcome refused;
  const auto begin = TcpClock::now();
  const auto outcomes = meet_all({all[0], all[1]}, [&] {
    std::this_thread::sleep_for(500ms);
    refused = meet_all({twin}).front();
  });
  EXPECT_EQ(outcomes.front().code, 78);
  EXPECT_TRUE(says(outcomes.front().message, "rank 1 has come twice, from host1 and from other: is RANK set"));
  EXPECT_EQ(outcomes.back().code, 78);
  EXPECT_EQ(refused.code, 78);
  EXPECT_LT(TcpClock::now() - begin, 10s) << "less than the limit";
}

TEST(TcpMeeting, says_what_an_address_looks_like) {
  EXPECT_EQ(text_of(parse_address("[::1]:80", "--meet")), "[::1]:80");
  for (const char* wrong : {"", "host", "host:", ":80", "host:0", "host:65536", "host:80x", "::1:80", "[::1]"})
    EXPECT_EQ(code_of([&] { parse_address(wrong, "--meet"); }), ExitCode::kUsage) << wrong;
  EXPECT_EQ(code_of([] { listen_at({"192.0.2.1", 0}); }), ExitCode::kUsage) << "not an address of this host";
}

TEST(TcpRanks, wait_no_longer_when_one_aborts) {
  std::vector<int> woken(3, 0);
  const auto body = [&](Transport& transport) {
    std::vector<float> values(1000);
    const auto code = code_of([&] {
      transport.all_gather("");  // now all ranks are here
      if (transport.rank() == 1) throw Error(ExitCode::kDiverged, "crafted");
      transport.all_reduce_sum(values).wait();
    });
    woken[static_cast<std::size_t>(transport.rank())] = static_cast<int>(code);
    if (transport.rank() == 1) throw Error(ExitCode::kDiverged, "crafted");
  };
  EXPECT_EQ(run_tcp_threads(3, {0, 1, 2}, body, {"tcp", true}), 76);
  EXPECT_EQ(woken, (std::vector<int>{69, 76, 69}));
}

}  // namespace
}  // namespace eave
