#include "transport/tcp/tcp_link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace eave {
namespace {

// Behind a message's bytes: its code, then the header of the next message.
constexpr std::size_t kEdge = kTag + kHeader;
constexpr std::size_t kMessagesAtOnce = 8, kReadsAtOnce = 16;
// Short messages wait for others until so many bytes have come together. A message of a fast link is longer than that.
constexpr std::size_t kMostHeld = std::size_t{48} << 10;
// One call writes no message that begins behind so many bytes: the bytes still lie in the cache when they are copied.
constexpr std::size_t kWrittenAtOnce = std::size_t{64} << 10;

}  // namespace

void TcpLinks::locked_queue(Link& link, Message* message) {
  (link.last ? link.last->next : link.first) = message;
  link.last = message;
  link.held += kHeader + message->header.length + kTag;
  if (holds_sends_ && !message->is_word && link.held < kMostHeld) return;
  const bool is_word = message->is_word;  // a written word may already be another message
  const bool has_left = !link.is_full && locked_write(link);
  // The thread that pauses sends messages itself, and knows of them. Another thread's word may take them along.
  if (has_left && is_word) locked_note_move();
  if (link.first) locked_end_pause();  // the thread that pauses is to write the rest
}

// Right before the kernel copies the bytes: so a message that waited for its turn is loaded into the cache once.
void TcpLinks::locked_add_tag(Link& link, Message& message) {
  if (std::exchange(message.has_tag, true)) return;
  link.out_mac.begin();
  link.out_mac.add(std::as_bytes(std::span(&message.header, 1)));
  link.out_mac.add({message.bytes, message.header.length});
  message.tag = link.out_mac.end();
}

bool TcpLinks::locked_write(Link& link) {
  bool has_left = false;
  link.held = 0;
  link.is_full = false;
  while (link.first && link.socket.is_open()) {
    std::array<iovec, 3 * kMessagesAtOnce> parts;
    std::size_t count = 0, whole = 0, skip = link.written;
    const auto add = [&](void* bytes, std::size_t length) {
      const std::size_t skipped = std::min(skip, length);
      skip -= skipped;
      if (skipped < length) parts[count++] = {static_cast<std::byte*>(bytes) + skipped, length - skipped};
      whole += length - skipped;
    };
    for (Message* each = link.first; each && count + 3 <= parts.size() && whole < kWrittenAtOnce; each = each->next) {
      locked_add_tag(link, *each);
      add(&each->header, kHeader);
      add(each->bytes, each->header.length);
      add(each->tag.data(), kTag);
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const auto sent = ::sendmsg(link.socket.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    link.is_full = sent < static_cast<std::ptrdiff_t>(whole);
    if (sent < 0) {
      // If the peer has closed the connection, its last words may still be there to be read.
      if (errno != EAGAIN) link.first = link.last = nullptr;
      return has_left;
    }
    link.written += static_cast<std::size_t>(sent);
    while (link.first) {
      Message* const first = link.first;
      const std::size_t length = kHeader + first->header.length + kTag;
      if (link.written < length) break;
      link.written -= length;
      link.first = first->next;
      if (!link.first) link.last = nullptr;
      first->is_done = true;
      has_left |= !first->is_word;
      if (first->is_word) free_messages_.push_back(first);
    }
    if (link.is_full) break;
  }
  return has_left;
}

// One system call brings the rest of a message, its code, and the next header.
void TcpLinks::locked_read(Link& link) {
  for (std::size_t reads = 0; reads < kReadsAtOnce && link.socket.is_open() && !link.is_refused; ++reads) {
    const std::size_t length = link.header.length;
    std::array<iovec, 2> parts;
    std::size_t count = 0;
    if (link.got < length) parts[count++] = {link.into + link.got, length - link.got};
    const std::size_t in_edge = link.got - std::min(link.got, length);
    parts[count++] = {link.edge.data() + in_edge, kEdge - in_edge};
    const auto got = ::readv(link.socket.descriptor(), parts.data(), static_cast<int>(count));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    const std::size_t wanted = length + kEdge - link.got;
    if (got <= 0) return locked_close(link);
    if (!locked_consume(link, static_cast<std::size_t>(got))) return locked_refuse(link);
    if (static_cast<std::size_t>(got) < wanted) return;  // all that had come is read
  }
}

// The message that comes next goes into a buffer, until somebody takes it.
void TcpLinks::locked_buffer_message(Link& link) {
  if (free_buffers_.empty()) {
    free_buffers_.reserve(buffers_.size() + 1);
    free_buffers_.push_back(buffers_.emplace_back(std::make_unique<Buffered>()).get());
  }
  link.buffered = free_buffers_.back();
  free_buffers_.pop_back();
  link.buffered->header = link.header;
  link.buffered->is_whole = false;
  link.buffered->taker = nullptr;
  link.into = link.buffered->bytes.get();
  link.unclaimed.push_back(link.buffered);
}

// From now on, the link neither writes nor reads memory that belongs to messages. After an error some may be left, and
// their memory is freed. If one already has its code, the connection ends. The code cannot be taken back, and the peer
// would find later codes wrong.
void TcpLinks::locked_forget_messages(Link& link) {
  link.waiting.clear();
  for (Buffered* const each : link.unclaimed) each->taker = nullptr;
  if (std::exchange(link.receive, nullptr) && !link.is_whole) locked_buffer_message(link);
  for (const Message* each = link.first; each; each = each->next)
    if (!each->is_word && each->has_tag) return locked_close(link);
  Message* each = std::exchange(link.first, nullptr);
  link.last = nullptr;
  while (each) {
    Message* const next = std::exchange(each->next, nullptr);
    if (each->is_word) {
      (link.last ? link.last->next : link.first) = each;
      link.last = each;
    }
    each = next;
  }
}

// False: what came is no message of the job.
bool TcpLinks::locked_consume(Link& link, std::size_t got) {
  const std::size_t length = link.header.length, of_bytes = std::min(got, length - std::min(length, link.got));
  if (of_bytes > 0) link.in_mac.add({link.into + link.got, of_bytes});
  link.got += got;
  if (!link.is_whole && link.got >= length + kTag && !locked_end_message(link)) return false;
  return link.got < length + kEdge || locked_begin_message(link);
}

bool TcpLinks::locked_begin_message(Link& link) {
  std::memcpy(&link.header, link.edge.data() + kTag, kHeader);
  link.got = 0;
  link.is_whole = false;
  link.receive = nullptr;
  link.buffered = nullptr;
  if (link.header.length > Messages::kLongest) return false;
  link.in_mac.begin();
  link.in_mac.add(std::as_bytes(std::span(&link.header, 1)));
  if (link.header.channel == 0) {
    link.into = link.word.data();
    return link.header.length <= link.word.size();
  }
  const auto found = std::ranges::find_if(
      link.waiting, [&](const Message* each) { return std::memcmp(&each->header, &link.header, kHeader) == 0; });
  if (found != link.waiting.end()) {
    link.receive = *found;
    link.waiting.erase(found);
    link.into = link.receive->bytes;
    return true;
  }
  locked_buffer_message(link);
  return true;
}

bool TcpLinks::locked_end_message(Link& link) {
  link.is_whole = true;
  if (!equal_in_constant_time(link.in_mac.end(), std::span(link.edge).first(kTag))) return false;
  if (link.header.channel != 0) locked_note_move();
  if (link.receive) {
    link.receive->is_done = true;
  } else if (link.buffered) {
    link.buffered->is_whole = true;
    if (Message* const taker = link.buffered->taker) {
      std::copy_n(link.buffered->bytes.get(), link.header.length, taker->bytes);
      taker->is_done = true;
      locked_give_back(link, link.buffered);
    }
  } else {
    locked_hear(link);
  }
  return true;
}

void TcpLinks::locked_hear(Link& link) {
  if (link.header.tag == kGoodbye) link.has_said_goodbye = true;
  if (link.header.tag == kControl && link.header.length == sizeof(ControlMessage)) {
    ControlMessage message;
    std::memcpy(&message, link.word.data(), sizeof message);
    control_.emplace_back(link.peer, message);
  }
  if (link.header.tag == kEnd && link.header.length == sizeof(int)) {
    int code = 0;
    std::memcpy(&code, link.word.data(), sizeof code);
    if (!end_told_) end_told_ = static_cast<ExitCode>(code);
    locked_lose({link.peer, end_told_});
  }
}

bool TcpLinks::locked_list(std::vector<pollfd>& wanted) {
  bool has_written = false;
  wanted.clear();
  for (const auto& link : links_) {
    if (link && link->first && !link->is_full) {
      locked_write(*link);
      has_written = true;
    }
    const bool is_open = link && link->socket.is_open();
    const int read = is_open && link->is_refused ? 0 : POLLIN, write = is_open && link->first ? POLLOUT : 0;
    wanted.push_back({is_open ? link->socket.descriptor() : -1, static_cast<short>(read | write), 0});
  }
  return has_written;
}

void TcpLinks::locked_move(const std::vector<pollfd>& wanted) {
  for (std::size_t peer = 0; peer < links_.size(); ++peer) {
    if (wanted[peer].revents == 0) continue;
    locked_write(*links_[peer]);
    locked_read(*links_[peer]);
  }
}

void TcpLinks::locked_close(Link& link) {
  link.socket.close();
  link.first = link.last = nullptr;
  if (!link.has_said_goodbye) locked_lose({link.peer});
}

// The connection stays open: so tell_end() reaches the other rank too, which would otherwise accuse this one.
void TcpLinks::locked_refuse(Link& link) {
  link.is_refused = true;
  locked_lose({.rank = link.peer, .sent_changed = true});
}

void TcpLinks::locked_lose(const EndedRank& lost) {
  if (!lost_) lost_ = lost;
  ::eventfd_write(wake_.descriptor(), 1);  // whichever thread has noticed it
  locked_note_move();
}

}  // namespace eave
