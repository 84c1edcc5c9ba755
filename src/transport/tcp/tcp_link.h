// One connection of TcpLinks and the messages on it. Only the sources of TcpLinks include this header.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "transport/tcp/tcp_links.h"
#include "transport/tcp/tcp_mac.h"

namespace eave {

constexpr std::size_t kHeader = sizeof(TcpHeader), kTag = sizeof(MacTag);
constexpr std::size_t kBuffer = Messages::kLongest;
constexpr std::size_t kWaiting = 128;  // places for messages that wait, made beforehand

enum TcpWord { kControl = 1, kGoodbye, kEnd };  // tags of channel 0

// A message that is sent, or a receive that waits for one.
struct TcpLinks::Message {
  TcpHeader header;
  std::byte* bytes = nullptr;  // of a sent message, only read
  MacTag tag{};                // computed right before the first byte is written
  bool has_tag = false;
  std::array<std::byte, sizeof(ControlMessage)> own{};  // the bytes of a word
  bool is_word = false;                                 // forgotten once it is sent
  bool is_done = false;
  Message* next = nullptr;
};

// A message that came before anybody waited for it.
struct TcpLinks::Buffered {
  TcpHeader header;
  std::unique_ptr<std::byte[]> bytes{new std::byte[kBuffer]};  // a page of it takes memory once it is used
  bool is_whole = false;
  Message* taker = nullptr;  // set if a receive has begun to wait for it meanwhile
};

struct TcpLinks::Link {
  Link(int rank, TcpConnection connection)
      : peer(rank), socket(std::move(connection.socket)), out_mac(connection.sends), in_mac(connection.receives) {
    waiting.reserve(kWaiting);
    unclaimed.reserve(kWaiting);
  }

  const int peer;
  Socket socket;
  MessageMac out_mac, in_mac;
  bool has_said_goodbye = false;
  bool is_refused = false;  // a changed message came: nothing more is read, but last words can be sent
  // Outgoing.
  Message* first = nullptr;
  Message* last = nullptr;
  std::size_t written = 0;  // of the first, with header and tag
  std::size_t held = 0;     // bytes that have come since the last write
  bool is_full = false;     // the socket had no place for more at the last write
  // Incoming: the message of which bytes are expected. In the beginning, an empty one whose code has come.
  TcpHeader header;
  std::byte* into = nullptr;
  std::size_t got = kTag;
  bool is_whole = true;
  std::array<std::byte, kTag + kHeader> edge{};
  Message* receive = nullptr;
  Buffered* buffered = nullptr;
  std::array<std::byte, sizeof(ControlMessage)> word{};
  std::vector<Message*> waiting;     // receives, in their order
  std::vector<Buffered*> unclaimed;  // in the order in which they came
};

}  // namespace eave
