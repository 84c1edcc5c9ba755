#include "transport/core/text_routes.h"

#include <cstdint>
#include <cstring>

#include "eave/check.h"

namespace eave {

void append_text(std::string& packed, std::string_view text) {
  const std::uint64_t length = text.size();
  packed.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

std::vector<std::string> unpack_texts(std::string_view packed) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size();) {
    std::uint64_t length = 0;
    EAVE_CHECK(packed.size() - at >= sizeof length, "texts of ranks end early");
    std::memcpy(&length, packed.data() + at, sizeof length);
    EAVE_CHECK(packed.size() - at - sizeof length >= length, "a text of a rank ends early");
    texts.emplace_back(packed.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return texts;
}

std::vector<int> children_of(int rank, int ranks) {
  std::vector<int> children;
  const int end = rank == 0 ? ranks : 1 << std::countr_zero(static_cast<unsigned>(rank));
  for (int step = 1; step < end && rank + step < ranks; step *= 2) children.push_back(rank + step);
  return children;
}

std::string Transport::scatter(const std::vector<std::string>& texts) {
  std::string packed;
  if (rank() == 0) {
    EAVE_CHECK(static_cast<int>(texts.size()) == size(), "rank 0 has a text for each rank");
    for (const std::string& text : texts) append_text(packed, text);
  }
  return this->texts(packed, TextRoute::kFirstToEach).front();
}

}  // namespace eave
