#include "transport/messages/message_texts.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "eave/check.h"
#include "transport/core/text_routes.h"

namespace eave {

MessageTexts::MessageTexts(Messages& messages, int first_tag, std::function<void(Messages::Requests&)> wait)
    : messages_(messages), first_tag_(first_tag), wait_(std::move(wait)) {}

std::vector<std::string> MessageTexts::texts(const std::string& mine, TextRoute route, std::uint32_t history) {
  tag_ = {first_tag_ + 2 * static_cast<int>(route), history};
  if (route == TextRoute::kFirstToAll) return {hand_down(mine)};
  if (route == TextRoute::kFirstToEach) return {hand_out(mine)};
  std::string all = collect(mine);
  if (route == TextRoute::kAllToAll) all = hand_down(std::move(all));
  return route == TextRoute::kAllToAll || messages_.rank() == 0 ? unpack_texts(all) : std::vector<std::string>{};
}

// Collects the texts of this rank's subtree, in rank order, and sends them to its parent.
std::string MessageTexts::collect(const std::string& mine) {
  std::string packed;
  append_text(packed, mine);
  for (const int child : children_of(messages_.rank(), messages_.size())) packed += receive(child);
  if (messages_.rank() == 0) return packed;
  send(packed, std::array{parent_of(messages_.rank())});
  return packed;
}

// Passes on rank 0's text; what other ranks give is ignored. The largest subtree has the longest way, so it comes
// first.
std::string MessageTexts::hand_down(std::string packed) {
  if (messages_.rank() != 0) packed = receive(parent_of(messages_.rank()));
  std::vector<int> children = children_of(messages_.rank(), messages_.size());
  std::ranges::reverse(children);
  send(packed, children);
  return packed;
}

// Passes on the texts of this rank's subtree. Returns the first, which is this rank's, and sends each child those of
// its subtree.
std::string MessageTexts::hand_out(std::string packed) {
  const int rank = messages_.rank(), ranks = messages_.size();
  if (rank != 0) packed = receive(parent_of(rank));
  const std::vector<std::string> texts = unpack_texts(packed);
  EAVE_CHECK(std::ssize(texts) == end_of_subtree(rank, ranks) - rank, "each rank of the subtree has a text");
  std::vector<int> children = children_of(rank, ranks);
  std::ranges::reverse(children);
  for (const int child : children) {
    std::string theirs;
    for (int each = child; each < end_of_subtree(child, ranks); ++each)
      append_text(theirs, texts[static_cast<std::size_t>(each - rank)]);
    send(theirs, std::array{child});
  }
  return texts.front();
}

void MessageTexts::send(const std::string& text, std::span<const int> ranks) {
  Head head{text.size()};
  const std::size_t begun = std::min(text.size(), sizeof head.begin);
  std::copy_n(text.data(), begun, head.begin);
  const std::span rest = std::span(text).subspan(begun);
  Messages::Requests requests;
  {
    const std::lock_guard lock(messages_.mutex());
    for (const int rank : ranks) {
      messages_.send(std::as_bytes(std::span(&head, 1)), rank, tag_, requests);
      if (!rest.empty()) messages_.send(std::as_bytes(rest), rank, tag_of_rest(), requests);
    }
  }
  wait_(requests);
}

std::string MessageTexts::receive(int rank) {
  Head head;
  take(std::as_writable_bytes(std::span(&head, 1)), rank, tag_);
  std::string text(head.length, '\0');
  const std::size_t begun = std::min(text.size(), sizeof head.begin);
  std::copy_n(head.begin, begun, text.data());
  if (begun < text.size()) take(std::as_writable_bytes(std::span(text).subspan(begun)), rank, tag_of_rest());
  return text;
}

void MessageTexts::take(Messages::Bytes bytes, int rank, Messages::Tag tag) {
  Messages::Requests requests;
  {
    const std::lock_guard lock(messages_.mutex());
    messages_.receive(bytes, rank, tag, requests);
  }
  wait_(requests);
}

}  // namespace eave
