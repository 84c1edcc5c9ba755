// Messages of any length between the ranks of a job: the part of a library of messages that MessageWire needs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eave/check.h"

namespace eave {

// One thread sends and receives. Any thread may use the library while it holds mutex(), which all objects of a process
// share. The mutex is held around calls, not while waiting for a message. Messages of one tag from one rank to another
// keep their order. If sender and receiver of a message expect different lengths, the message is not received. A
// library may treat different histories alike.
class Messages {
 public:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;
  // Messages in flight, as the library names them. Their bytes stay alive until they are completed.
  using Requests = std::vector<std::uintptr_t>;
  struct Tag {
    int number = 0;             // < 64
    std::uint32_t history = 0;  // of the collective calls so far, equal on ranks in step; 0: of no such call
    Tag(int number_of, std::uint32_t history_of = 0) : number(number_of), history(history_of) {}
  };

  Messages(int rank, int size, std::shared_ptr<std::mutex> mutex)
      : rank_(rank), size_(size), mutex_(std::move(mutex)) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  virtual ~Messages() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  std::mutex& mutex() { return *mutex_; }
  const std::shared_ptr<std::mutex>& shared_mutex() const { return mutex_; }

  // The caller holds mutex(). Long messages go in pieces of at most `piece` bytes, the same on both sides. Zero bytes
  // are a message too.
  void send(ConstBytes bytes, int to, Tag tag, Requests& requests, std::size_t piece = kLongest) {
    in_pieces(bytes, piece, [&](ConstBytes part) { requests.push_back(send_piece(part, to, tag)); });
  }
  void receive(Bytes bytes, int from, Tag tag, Requests& requests, std::size_t piece = kLongest) {
    in_pieces(bytes, piece, [&](Bytes part) { requests.push_back(receive_piece(part, from, tag)); });
  }

  // The functions below take mutex() themselves.

  // Removes completed requests from the end. Returns whether it removed any.
  virtual bool advance(Requests& requests) = 0;
  // From now on, messages of this tag and length are received from any rank, one after another, into `bytes`.
  virtual void await_any(Bytes bytes, int tag) = 0;
  // If one of them has come, fills the bytes and returns its sender. Call await_any for the next one.
  virtual std::optional<int> take_any() = 0;
  virtual void stop_awaiting() noexcept = 0;
  // Moves what can be moved, waits for at most this long if nothing can, and returns.
  virtual void pause(std::chrono::nanoseconds at_most) = 0;
  // While sends are held, a short message may wait for others, so that they leave together. They leave at the latest
  // when the caller pauses.
  virtual void hold_sends(bool) {}
  // Whether pause() returns as soon as a message has moved, or when any thread calls wake(). If so, it may wait long.
  virtual bool ends_pauses() const { return false; }
  virtual void wake() noexcept {}
  // Collective: messages among the ranks that give the same part, numbered in their order. nullptr if `part` is
  // negative. All ranks are through with the messages of the previous call.
  virtual std::unique_ptr<Messages> split(int part) = 0;
  // Ends all ranks with this code. As Transport::abort.
  virtual void abort(ExitCode code) noexcept = 0;

  static constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes per piece

 private:
  virtual std::uintptr_t send_piece(ConstBytes bytes, int to, Tag tag) = 0;
  virtual std::uintptr_t receive_piece(Bytes bytes, int from, Tag tag) = 0;

  template <class Span, class Each>
  static void in_pieces(Span bytes, std::size_t piece, const Each& each) {
    std::size_t at = 0;
    do {
      const std::size_t length = std::min(piece, bytes.size() - at);
      each(bytes.subspan(at, length));
      at += length;
    } while (at < bytes.size());
  }

  const int rank_, size_;
  const std::shared_ptr<std::mutex> mutex_;
};

}  // namespace eave
