#include "transport/mpi_texts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "eave/check.h"
#include "transport/text_routes.h"

namespace eave {
namespace {

// Several texts as one, each behind its length.
void append(std::string& packed, const std::string& text) {
  const std::uint64_t length = text.size();
  packed.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

std::vector<std::string> unpack(const std::string& packed) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size();) {
    std::uint64_t length = 0;
    EAVE_CHECK(packed.size() - at >= sizeof length, "texts of ranks end early");
    std::memcpy(&length, packed.data() + at, sizeof length);
    EAVE_CHECK(packed.size() - at - sizeof length >= length, "a text of a rank ends early");
    texts.push_back(packed.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return texts;
}

}  // namespace

MpiTexts::MpiTexts(MpiMessages& messages, int first_tag, std::function<void(MpiMessages::Requests&)> wait)
    : messages_(messages), first_tag_(first_tag), wait_(std::move(wait)) {}

std::vector<std::string> MpiTexts::texts(const std::string& mine, TextRoute route) {
  tag_ = first_tag_ + 2 * static_cast<int>(route);
  if (route == TextRoute::kFirstToAll) return {hand_down(mine)};
  std::string all = collect(mine);
  if (route == TextRoute::kAllToAll) all = hand_down(std::move(all));
  return route == TextRoute::kAllToAll || messages_.rank() == 0 ? unpack(all) : std::vector<std::string>{};
}

// Those of this rank's subtree, in rank order; gives them to its parent.
std::string MpiTexts::collect(const std::string& mine) {
  std::string packed;
  append(packed, mine);
  for (const int child : children_of(messages_.rank(), messages_.size())) packed += receive(child);
  if (messages_.rank() == 0) return packed;
  send(packed, std::array{parent_of(messages_.rank())});
  return packed;
}

// What rank 0 gives; what the others give is not looked at. The largest subtree has the longest way, and comes first.
std::string MpiTexts::hand_down(std::string packed) {
  if (messages_.rank() != 0) packed = receive(parent_of(messages_.rank()));
  std::vector<int> children = children_of(messages_.rank(), messages_.size());
  std::ranges::reverse(children);
  send(packed, children);
  return packed;
}

void MpiTexts::send(const std::string& text, std::span<const int> ranks) {
  Head head{text.size()};
  const std::size_t begun = std::min(text.size(), sizeof head.begin);
  std::copy_n(text.data(), begun, head.begin);
  const std::span rest = std::span(text).subspan(begun);
  MpiMessages::Requests requests;
  {
    const std::lock_guard lock(messages_.in_mpi());
    for (const int rank : ranks) {
      messages_.send(std::as_bytes(std::span(&head, 1)), rank, tag_, requests);
      if (!rest.empty()) messages_.send(std::as_bytes(rest), rank, tag_ + 1, requests);
    }
  }
  wait_(requests);
}

std::string MpiTexts::receive(int rank) {
  Head head;
  take(std::as_writable_bytes(std::span(&head, 1)), rank, tag_);
  std::string text(head.length, '\0');
  const std::size_t begun = std::min(text.size(), sizeof head.begin);
  std::copy_n(head.begin, begun, text.data());
  if (begun < text.size()) take(std::as_writable_bytes(std::span(text).subspan(begun)), rank, tag_ + 1);
  return text;
}

void MpiTexts::take(MpiMessages::Bytes bytes, int rank, int tag) {
  MpiMessages::Requests requests;
  {
    const std::lock_guard lock(messages_.in_mpi());
    messages_.receive(bytes, rank, tag, requests);
  }
  wait_(requests);
}

}  // namespace eave
