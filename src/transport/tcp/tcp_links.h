// The connections of one rank to all others, and the messages on them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eave/transport.h"
#include "transport/messages/messages.h"
#include "transport/tcp/tcp_handshake.h"

struct pollfd;

namespace eave {

// Every message has this header, then its bytes, then the code of both (tcp_mac.h).
struct TcpHeader {
  std::uint32_t length = 0;
  std::uint32_t tag = 0;
  std::uint32_t channel = 0;  // of a group of ranks; 0: the words of these connections themselves
  std::uint32_t history = 0;  // Messages::Tag::history: a rank out of step takes no message of another call
};

// A rank that has left although the job goes on.
struct EndedRank {
  int rank = -1;
  // The code that it gave to all. Without a code, its connection ended for another reason.
  std::optional<ExitCode> code = {};
  bool sent_changed = false;  // the reason: a message from it arrived that is not as it was sent
};

// `rank`: such as "rank 1 on b".
std::string describe_changed(const std::string& rank);

// All waiting is one poll of all connections, so whoever waits moves what can be moved: bytes into the memory of a
// receive that waits for them, or into a buffer. No thread works for it, but a watch thread sleeps in await_end(), so
// that a rank that computes notices at once when another is lost.
//
// Functions that begin with "locked" are called while mutex() is held; the others take it themselves.
class TcpLinks {
 public:
  using Bytes = Messages::Bytes;
  using ConstBytes = Messages::ConstBytes;

  TcpLinks(int rank, int size);
  ~TcpLinks();
  TcpLinks(const TcpLinks&) = delete;
  TcpLinks& operator=(const TcpLinks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::shared_ptr<std::mutex>& mutex() const { return mutex_; }
  void connect(int peer, TcpConnection connection);
  bool is_connected(int peer);
  // From now on, a rank that waits when another is lost waits for ever: somebody else ends the process. Before, its
  // wait throws Error(kPeerLost).
  void leave_end_to_others() { waits_for_end_ = true; }

  // A message to send or to receive. The bytes stay alive until locked_finish returns true, which forgets the message.
  std::uintptr_t locked_send(ConstBytes bytes, int to, std::uint32_t channel, Messages::Tag tag);
  std::uintptr_t locked_receive(Bytes bytes, int from, std::uint32_t channel, Messages::Tag tag);
  bool locked_finish(std::uintptr_t message);
  // Takes a message that nobody waits for. nullopt: none has come from any of these ranks. Else the index of its
  // sender.
  std::optional<int> locked_take(Bytes bytes, std::span<const int> ranks, std::uint32_t channel, int tag);

  // Moves what can be moved. If nothing can, waits until something can, until any thread calls wake() or moves a
  // message itself, and for at most this long. One thread calls it.
  void pause(std::chrono::nanoseconds at_most);
  void wake() noexcept;
  void hold_sends(bool is_held);
  // For a watch thread: returns when a peer has ended its side of a connection, after hearing its last words, or when
  // stop_watching() is called.
  void await_end();
  void stop_watching() noexcept;
  void hear_last_words();  // reads what has come on all connections, without waiting
  std::optional<EndedRank> lost();
  std::optional<ExitCode> end_told();  // the code that a rank has told all others to end with

  void post(int to, const ControlMessage& message);
  bool take(ControlMessage& message, int& from);

  // Tells all ranks that this one leaves with this code. Waits for at most 300 ms until they have heard it.
  void tell_end(ExitCode code) noexcept;
  // The same. Then ends the process, or, without leave_end_to_others(), makes this rank's later waits fail.
  void abort(ExitCode code) noexcept;
  // Says goodbye to all ranks, and returns when all have said it. Losses are none from then on.
  void part();

  std::uint32_t next_channel = 1;  // guarded by the order of the collective calls

 private:
  struct Message;
  struct Buffered;
  struct Link;

  Message* locked_new_message();
  void locked_queue(Link& link, Message* message);
  void locked_say(int to, int word, ConstBytes bytes);
  void locked_add_tag(Link& link, Message& message);
  // Returns whether a message has left that somebody may wait for.
  bool locked_write(Link& link);
  void locked_read(Link& link);
  bool locked_consume(Link& link, std::size_t got);
  bool locked_begin_message(Link& link);
  bool locked_end_message(Link& link);
  void locked_hear(Link& link);
  void locked_close(Link& link);
  void locked_refuse(Link& link);
  void locked_lose(const EndedRank& lost);
  void locked_end_pause() noexcept;
  void locked_note_move() noexcept;
  void locked_give_back(Link& link, Buffered* buffered);
  void locked_buffer_message(Link& link);
  void locked_forget_messages(Link& link);
  // Lists the events to wait for, and writes what has been held. Returns whether there was something.
  bool locked_list(std::vector<pollfd>& wanted);
  void locked_move(const std::vector<pollfd>& wanted);
  bool look_for_events();
  bool all_have_left();
  void fail_if_lost();

  const int rank_, size_;
  const std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::vector<std::unique_ptr<Link>> links_;  // by rank
  std::vector<std::unique_ptr<Message>> messages_;
  std::vector<Message*> free_messages_;
  std::vector<std::unique_ptr<Buffered>> buffers_;
  std::vector<Buffered*> free_buffers_;
  std::deque<std::pair<int, ControlMessage>> control_;
  std::optional<EndedRank> lost_;
  std::optional<ExitCode> end_told_;
  std::atomic<bool> waits_for_end_{false};
  bool is_parting_ = false;
  bool holds_sends_ = false;
  bool is_paused_ = false;  // a thread waits in pause() and does not know what other threads have moved since
  bool has_moved_ = false;  // a message has moved since the last pause(): the next one does not wait
  int vain_looks_ = 0, without_looking_ = 0;  // of pause()
  std::vector<pollfd> wanted_, wanted_by_watch_;
  Socket wake_, end_pause_;  // eventfds, which wake the watch thread and the one in pause()
};

}  // namespace eave
