// Texts between ranks, by messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eave/transport.h"
#include "transport/messages/messages.h"

namespace eave {

// Texts move along a binomial tree. A rank waits for at most log2 p others, one after another, and passes on the texts
// of its subtree.
class MessageTexts {
 public:
  // `wait` returns when the messages have moved. The eight tags from `first_tag` on belong to this object, two per
  // route. So ranks that are out of step do not receive each other's texts.
  MessageTexts(Messages& messages, int first_tag, std::function<void(Messages::Requests&)> wait);
  std::vector<std::string> texts(const std::string& mine, TextRoute route, std::uint32_t history);

 private:
  // The first message of a text. Most texts fit into it; the rest of a longer one follows in a second message.
  struct Head {
    std::uint64_t length = 0;
    char begin[248] = {};
  };

  std::string collect(const std::string& mine);
  std::string hand_down(std::string packed);
  std::string hand_out(std::string packed);
  void send(const std::string& text, std::span<const int> ranks);
  std::string receive(int rank);
  void take(Messages::Bytes bytes, int rank, Messages::Tag tag);
  Messages::Tag tag_of_rest() const { return {tag_.number + 1, tag_.history}; }

  Messages& messages_;
  const int first_tag_;
  Messages::Tag tag_ = 0;  // of the current route
  const std::function<void(Messages::Requests&)> wait_;
};

}  // namespace eave
