#include "transport/tcp/tcp_links.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <tuple>

#include "eave/check.h"
#include "transport/core/backoff.h"
#include "transport/tcp/tcp_link.h"

namespace eave {
namespace {

constexpr std::chrono::milliseconds kEndNeeds{300};
// How long pause() looks for a message before it sleeps. A message of a fast link comes sooner.
constexpr std::chrono::microseconds kLooks{50};
constexpr int kMostWithoutLooking = 63;  // pauses in a row
// Per connection. They are made beforehand, so that a job allocates none after its first steps.
constexpr std::size_t kBuffers = 32, kMessages = 128;
constexpr int kMostPreparedRanks = 16;  // jobs of more ranks take memory when they first need it

TcpHeader header_of(std::size_t length, std::uint32_t channel, Messages::Tag tag) {
  return {static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(tag.number), channel, tag.history};
}

bool await_any_of(std::vector<pollfd>& wanted, std::chrono::nanoseconds at_most) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at_most);
  const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((at_most - seconds).count())};
  return ::ppoll(wanted.data(), wanted.size(), &limit, nullptr) > 0;
}

Socket open_event() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) fail_to_open("an eventfd", errno);
  return Socket(descriptor);
}

}  // namespace

std::string describe_changed(const std::string& rank) {
  return "a message from " + rank +
         " arrived changed (its code is wrong): the network between the two hosts, or their memory, is faulty, or "
         "somebody interferes";
}

TcpLinks::TcpLinks(int rank, int size)
    : rank_(rank), size_(size), links_(static_cast<std::size_t>(size)), wake_(open_event()), end_pause_(open_event()) {
  wanted_.reserve(links_.size() + 1);
  wanted_by_watch_.reserve(links_.size() + 1);
}

TcpLinks::~TcpLinks() = default;

void TcpLinks::connect(int peer, TcpConnection connection) {
  const std::lock_guard lock(*mutex_);
  links_[static_cast<std::size_t>(peer)] = std::make_unique<Link>(peer, std::move(connection));
  if (size_ > kMostPreparedRanks) return;
  for (std::size_t k = 0; k < kMessages; ++k)
    free_messages_.push_back(messages_.emplace_back(std::make_unique<Message>()).get());
  for (std::size_t k = 0; k < kBuffers; ++k)
    free_buffers_.push_back(buffers_.emplace_back(std::make_unique<Buffered>()).get());
}

bool TcpLinks::is_connected(int peer) {
  const std::lock_guard lock(*mutex_);
  return links_[static_cast<std::size_t>(peer)] != nullptr;
}

TcpLinks::Message* TcpLinks::locked_new_message() {
  if (free_messages_.empty()) {
    free_messages_.reserve(messages_.size() + 1);
    free_messages_.push_back(messages_.emplace_back(std::make_unique<Message>()).get());
  }
  Message* const message = free_messages_.back();
  free_messages_.pop_back();
  message->is_word = message->is_done = message->has_tag = false;
  message->next = nullptr;
  return message;
}

std::uintptr_t TcpLinks::locked_send(ConstBytes bytes, int to, std::uint32_t channel, Messages::Tag tag) {
  Message* const message = locked_new_message();
  message->header = header_of(bytes.size(), channel, tag);
  message->bytes = const_cast<std::byte*>(bytes.data());
  locked_queue(*links_[static_cast<std::size_t>(to)], message);
  return reinterpret_cast<std::uintptr_t>(message);
}

void TcpLinks::locked_say(int to, int word, ConstBytes bytes) {
  Link* const link = links_[static_cast<std::size_t>(to)].get();
  if (!link || !link->socket.is_open()) return;
  Message* const message = locked_new_message();
  message->header = header_of(bytes.size(), 0, word);
  std::ranges::copy(bytes, message->own.begin());
  message->bytes = message->own.data();
  message->is_word = true;
  locked_queue(*link, message);
}

std::uintptr_t TcpLinks::locked_receive(Bytes bytes, int from, std::uint32_t channel, Messages::Tag tag) {
  Link& link = *links_[static_cast<std::size_t>(from)];
  Message* const message = locked_new_message();
  message->header = header_of(bytes.size(), channel, tag);
  message->bytes = bytes.data();
  const auto is_it = [&](const Buffered* each) {
    return !each->taker && std::memcmp(&each->header, &message->header, kHeader) == 0;
  };
  const auto found = std::ranges::find_if(link.unclaimed, is_it);
  if (found == link.unclaimed.end()) {
    link.waiting.push_back(message);
  } else if ((*found)->is_whole) {
    std::copy_n((*found)->bytes.get(), bytes.size(), bytes.begin());
    message->is_done = true;
    locked_give_back(link, *found);
  } else {
    (*found)->taker = message;
  }
  return reinterpret_cast<std::uintptr_t>(message);
}

bool TcpLinks::locked_finish(std::uintptr_t name) {
  auto* const message = reinterpret_cast<Message*>(name);
  if (!message->is_done) return false;
  free_messages_.push_back(message);
  return true;
}

std::optional<int> TcpLinks::locked_take(Bytes bytes, std::span<const int> ranks, std::uint32_t channel, int tag) {
  const TcpHeader wanted = header_of(bytes.size(), channel, tag);
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    Link* const link = links_[static_cast<std::size_t>(ranks[place])].get();
    if (!link) continue;
    for (Buffered* const each : link->unclaimed) {
      if (std::memcmp(&each->header, &wanted, kHeader) != 0) continue;
      if (!each->is_whole) break;
      std::copy_n(each->bytes.get(), bytes.size(), bytes.begin());
      locked_give_back(*link, each);
      return static_cast<int>(place);
    }
  }
  return std::nullopt;
}

void TcpLinks::locked_give_back(Link& link, Buffered* buffered) {
  link.unclaimed.erase(std::ranges::find(link.unclaimed, buffered));
  free_buffers_.push_back(buffered);
}

// Leaves messages where they are until a connection has ended.
void TcpLinks::await_end() {
  std::vector<pollfd>& wanted = wanted_by_watch_;
  wanted.clear();
  {
    const std::lock_guard lock(*mutex_);
    for (const auto& link : links_)
      wanted.push_back(
          {link && link->socket.is_open() && !link->is_refused ? link->socket.descriptor() : -1, POLLRDHUP, 0});
  }
  wanted.push_back({wake_.descriptor(), POLLIN, 0});
  if (::poll(wanted.data(), wanted.size(), -1) <= 0) return;
  eventfd_t calls = 0;
  ::eventfd_read(wake_.descriptor(), &calls);
  const std::lock_guard lock(*mutex_);
  for (std::size_t peer = 0; peer < links_.size(); ++peer)
    if (wanted[peer].revents != 0) locked_read(*links_[peer]);
}

void TcpLinks::stop_watching() noexcept { ::eventfd_write(wake_.descriptor(), 1); }

// During a sum, the next message is often near. Then sleeping, and being woken by the rank that sends, costs both ranks
// more than looking for the message. If the looks were in vain, as on slow links, the next pauses sleep at once.
bool TcpLinks::look_for_events() {
  if (without_looking_ > 0 && --without_looking_ > 0) return false;
  const auto end = TcpClock::now() + kLooks;
  do {
    if (!await_any_of(wanted_, {})) continue;
    vain_looks_ = 0;
    return true;
  } while (TcpClock::now() < end);
  vain_looks_ = std::min(2 * vain_looks_ + 1, kMostWithoutLooking);
  without_looking_ = vain_looks_ + 1;
  return false;
}

void TcpLinks::pause(std::chrono::nanoseconds at_most) {
  bool is_near = false;
  {
    const std::lock_guard lock(*mutex_);
    if (locked_list(wanted_)) at_most = {};  // what has left may be what the caller waits for
    if (std::exchange(has_moved_, false)) at_most = {};
    is_paused_ = at_most.count() > 0;
    is_near = is_paused_ && holds_sends_;
  }
  wanted_.push_back({end_pause_.descriptor(), POLLIN, 0});
  const bool is_any = (is_near && look_for_events()) || await_any_of(wanted_, at_most);
  if (is_any && wanted_.back().revents != 0) {
    eventfd_t calls = 0;
    ::eventfd_read(end_pause_.descriptor(), &calls);
  }
  if (!is_any && at_most.count() == 0) return fail_if_lost();
  {
    const std::lock_guard lock(*mutex_);
    is_paused_ = false;
    if (is_any) locked_move(wanted_);
    has_moved_ = false;
  }
  fail_if_lost();
}

void TcpLinks::hold_sends(bool is_held) {
  const std::lock_guard lock(*mutex_);
  holds_sends_ = is_held;
}

void TcpLinks::wake() noexcept { ::eventfd_write(end_pause_.descriptor(), 1); }

void TcpLinks::locked_end_pause() noexcept {
  if (std::exchange(is_paused_, false)) wake();
}

void TcpLinks::locked_note_move() noexcept {
  has_moved_ = true;
  locked_end_pause();
}

void TcpLinks::fail_if_lost() {
  const std::optional<EndedRank> gone = lost();
  if (!gone) return;
  while (waits_for_end_) std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::string rank = "rank " + std::to_string(gone->rank);
  throw Error(ExitCode::kPeerLost, gone->sent_changed ? describe_changed(rank) : rank + " has left the job");
}

std::optional<EndedRank> TcpLinks::lost() {
  const std::lock_guard lock(*mutex_);
  return is_parting_ ? std::nullopt : lost_;
}

std::optional<ExitCode> TcpLinks::end_told() {
  const std::lock_guard lock(*mutex_);
  return end_told_;
}

void TcpLinks::post(int to, const ControlMessage& message) {
  EAVE_CHECK(to >= 0 && to < size_ && to != rank_, "a message to rank " + std::to_string(to));
  const std::lock_guard lock(*mutex_);
  locked_say(to, kControl, std::as_bytes(std::span(&message, 1)));
}

void TcpLinks::hear_last_words() {
  const std::lock_guard lock(*mutex_);
  for (const auto& link : links_)
    if (link) locked_read(*link);
}

bool TcpLinks::take(ControlMessage& message, int& from) {
  const std::lock_guard lock(*mutex_);
  for (const auto& link : links_) {
    // This rank's own thread may compute for long, and other ranks may wait for words that met a full connection.
    if (link && link->first && link->is_full && locked_write(*link)) locked_note_move();
    if (control_.empty() && link) locked_read(*link);
  }
  if (control_.empty()) return false;
  std::tie(from, message) = control_.front();
  control_.pop_front();
  return true;
}

bool TcpLinks::all_have_left() {
  const std::lock_guard lock(*mutex_);
  return std::ranges::none_of(links_, [](const auto& link) { return link && link->socket.is_open(); });
}

// A rank that closed its connections at once could destroy its last words, which others have not read yet.
void TcpLinks::tell_end(ExitCode code) noexcept {
  try {
    if (!try_lock_within(*mutex_, std::chrono::seconds(1))) return;
    std::unique_lock lock(*mutex_, std::adopt_lock);
    is_parting_ = true;
    const int number = static_cast<int>(code);
    for (int peer = 0; peer < size_; ++peer) locked_say(peer, kEnd, std::as_bytes(std::span(&number, 1)));
    for (const auto& link : links_)
      if (link && link->socket.is_open() && !link->first) ::shutdown(link->socket.descriptor(), SHUT_WR);
    lock.unlock();
    std::vector<pollfd> wanted;
    const auto end = TcpClock::now() + kEndNeeds;
    while (TcpClock::now() < end && !all_have_left()) {
      lock.lock();
      locked_list(wanted);
      lock.unlock();
      const bool is_any = await_any_of(wanted, std::chrono::milliseconds(5));
      lock.lock();
      if (is_any) locked_move(wanted);
      lock.unlock();
    }
  } catch (...) {  // no memory: the others notice that the connections end
  }
}

void TcpLinks::abort(ExitCode code) noexcept {
  tell_end(code);
  if (waits_for_end_) std::_Exit(static_cast<int>(code));
  const std::lock_guard lock(*mutex_);
  is_parting_ = false;
  locked_lose({rank_, code});
}

void TcpLinks::part() {
  const auto all = [this](const auto& is_it) {
    const std::lock_guard lock(*mutex_);
    return std::ranges::all_of(links_, [&](const auto& link) { return !link || is_it(*link); });
  };
  {
    const std::lock_guard lock(*mutex_);
    for (const auto& link : links_)
      if (link) locked_forget_messages(*link);
    for (int peer = 0; peer < size_; ++peer) locked_say(peer, kGoodbye, {});
  }
  while (!all([](const Link& link) { return link.has_said_goodbye && !link.first; }))
    pause(std::chrono::milliseconds(100));
  const std::lock_guard lock(*mutex_);
  is_parting_ = true;
  for (const auto& link : links_)
    if (link) link->socket.close();
}

}  // namespace eave
