// The connection of two ranks: what other threads move while a rank pauses, computes or leaves.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "test/expectations.h"
#include "transport/tcp/tcp_links.h"
#include "transport/tcp/tcp_messages.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

struct TwoRanks {
  TcpLinks first{0, 2}, second{1, 2};
  TwoRanks() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    TcpConnection one, other;
    one.socket = Socket(pair[0]);
    other.socket = Socket(pair[1]);
    first.connect(1, std::move(one));
    second.connect(0, std::move(other));
  }
};

// The bytes outlive the links.
void send(TcpLinks& links, int to, const std::vector<std::byte>& bytes) {
  const std::lock_guard lock(*links.mutex());
  links.locked_send(bytes, to, 1, {1});
}

std::chrono::nanoseconds time_of(const auto& act) {
  const auto begin = TcpClock::now();
  act();
  return TcpClock::now() - begin;
}

// Between a look for a message and the pause, the guard's thread may read it.
TEST(TcpLinks, do_not_pause_if_another_thread_has_read_a_message) {
  const std::vector<std::byte> bytes(8);
  TwoRanks ranks;
  send(ranks.second, 0, bytes);
  ControlMessage message;
  int from = -1;
  EXPECT_FALSE(ranks.first.take(message, from)) << "the guard's thread, which moves the message into a buffer";
  EXPECT_LT(time_of([&] { ranks.first.pause(10s); }), 5s);
  EXPECT_GE(time_of([&] { ranks.first.pause(100ms); }), 100ms) << "nothing has moved since";
}

TEST(TcpLinks, pause_after_messages_that_the_same_thread_has_moved) {
  const std::vector<std::byte> bytes(8);
  TwoRanks ranks;
  send(ranks.second, 0, bytes);
  EXPECT_LT(time_of([&] { ranks.first.pause(10s); }), 5s);
  EXPECT_GE(time_of([&] { ranks.first.pause(100ms); }), 100ms);
  send(ranks.first, 1, bytes);
  EXPECT_GE(time_of([&] { ranks.first.pause(100ms); }), 100ms);
}

// The guard's thread posts a word behind a message that has been held.
TEST(TcpLinks, do_not_pause_if_a_word_has_taken_a_message_along) {
  const std::vector<std::byte> bytes(8);
  TwoRanks ranks;
  ranks.first.hold_sends(true);
  send(ranks.first, 1, bytes);
  ranks.first.post(1, {1, {}});
  EXPECT_LT(time_of([&] { ranks.first.pause(10s); }), 5s);
  EXPECT_GE(time_of([&] { ranks.first.pause(100ms); }), 100ms) << "nothing has moved since";
  ranks.first.post(1, {1, {}});
  EXPECT_GE(time_of([&] { ranks.first.pause(100ms); }), 100ms) << "a word alone";
}

// The guard's thread posts words and takes them. No other thread of the rank uses the connection meanwhile.
TEST(TcpLinks, write_words_that_met_a_full_connection_while_the_rank_computes) {
  constexpr int kWords = 5000;
  TwoRanks ranks;
  for (int k = 0; k < kWords; ++k) ranks.first.post(1, {1, {k}});
  ControlMessage message;
  int from = -1, got = 0;
  for (const auto end = TcpClock::now() + 20s; got < kWords && TcpClock::now() < end;) {
    while (ranks.second.take(message, from)) ASSERT_EQ(message.numbers[0], got++);
    EXPECT_FALSE(ranks.first.take(message, from));
  }
  EXPECT_EQ(got, kWords);
}

// A watchdog ends its process in this way. The other rank must not report this one as lost.
TEST(TcpControl, tells_the_other_rank_with_which_code_a_process_ends) {
  TwoRanks ranks;
  TcpControl control(ranks.first);
  tell_end(control, ExitCode::kInternal);
  ranks.second.hear_last_words();
  EXPECT_EQ(ranks.second.end_told(), ExitCode::kInternal);
}

// The first message has its code, but none of its bytes has left.
TEST(TcpLinks, accuse_nobody_if_messages_to_a_full_connection_are_forgotten) {
  const std::vector<std::byte> bytes(1000);
  TwoRanks ranks;
  for (int k = 0; k < 2000; ++k) send(ranks.first, 1, bytes);
  std::jthread leaving([&] { EXPECT_EQ(code_of([&] { ranks.first.part(); }), ExitCode::kPeerLost); });
  for (const auto end = TcpClock::now() + 20s; !ranks.second.lost() && TcpClock::now() < end;)
    ranks.second.hear_last_words();
  const auto lost = ranks.second.lost();
  ranks.second.tell_end(ExitCode::kPeerLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->rank, 0);
  EXPECT_FALSE(lost->sent_changed);
}

}  // namespace
}  // namespace eave
