#include "data/tokens/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "data/tokens/utf8_character.h"

namespace eave {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

UChar32 first_character(std::string_view text) { return utf8_character_at(bytes_in(text), 0).code; }

std::size_t begin_of_last(std::string_view text) {
  std::size_t at = text.size() - 1;
  for (int i = 0; i < 3 && at > 0 && (byte_at(text, at) & 0xC0) == 0x80; ++i) --at;
  return at;
}

// Rust's \w and \s.
bool is_of_word(UChar32 code) {
  if (code < 0) return false;
  const auto mask = static_cast<std::uint32_t>(U_GET_GC_MASK(code));
  return (mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         u_hasBinaryProperty(code, UCHAR_ALPHABETIC) != 0 || u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) != 0;
}
bool is_space(UChar32 code) { return code >= 0 && u_isUWhiteSpace(code) != 0; }

bool stands_alone(std::string_view before, std::string_view behind) {
  return !(!before.empty() && is_of_word(first_character(before.substr(begin_of_last(before))))) &&
         !(!behind.empty() && is_of_word(first_character(behind)));
}

std::size_t begin_of_spaces(std::string_view text) {
  while (!text.empty()) {
    const std::size_t last = begin_of_last(text);
    if (!is_space(first_character(text.substr(last)))) break;
    text = text.substr(0, last);
  }
  return text.size();
}

std::size_t count_spaces(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty() && is_space(first_character(text)))
    text.remove_prefix(utf8_character_at(bytes_in(text), 0).bytes);
  return size - text.size();
}

std::uint64_t key_of(std::uint32_t node, std::uint8_t byte) { return std::uint64_t{node} << 8 | byte; }

}  // namespace

bool is_white_space(std::string_view text) { return count_spaces(text) == text.size(); }

AddedTokenSearch::AddedTokenSearch(std::span<const AddedToken> tokens, bool is_normalized,
                                   const std::function<std::string(std::string_view)>& normalize) {
  const auto is_looked_for = [&](const AddedToken& token) { return !token.is_special && !token.content.empty(); };
  const auto is_here = [&](const AddedToken& token) { return token.is_normalized == is_normalized; };
  if (std::ranges::none_of(tokens, [&](const AddedToken& token) { return is_here(token) && is_looked_for(token); }))
    return;
  token_of_node_ = {-1};
  for (const AddedToken& token : tokens) {
    if (!is_here(token)) continue;
    const std::string content = normalize(token.content);
    if (content.empty()) continue;
    std::uint32_t node = 0;
    for (const char letter : content) {
      const auto next = static_cast<std::uint32_t>(token_of_node_.size());
      const auto [found, is_new] = nodes_.emplace(key_of(node, static_cast<std::uint8_t>(letter)), next);
      if (is_new) token_of_node_.push_back(-1);
      node = found->second;
    }
    begins_[byte_at(content, 0)] = true;
    token_of_node_[node] = static_cast<std::int32_t>(tokens_.size());
    tokens_.push_back(token);
    tokens_.back().content = content;
  }
}

const AddedToken* AddedTokenSearch::longest_at(std::string_view text, std::size_t at) const {
  const AddedToken* longest = nullptr;
  std::uint32_t node = 0;
  for (; at < text.size(); ++at) {
    const auto next = nodes_.find(key_of(node, byte_at(text, at)));
    if (next == nodes_.end()) break;
    node = next->second;
    if (token_of_node_[node] >= 0) longest = &tokens_[static_cast<std::size_t>(token_of_node_[node])];
  }
  return longest;
}

void AddedTokenSearch::split(std::string_view text, const Take& take) const {
  std::size_t done = 0;
  for (std::size_t at = 0, end = 0; !is_empty() && at < text.size(); at = end) {
    end = at + 1;
    const AddedToken* const token = begins_[byte_at(text, at)] ? longest_at(text, at) : nullptr;
    if (token == nullptr) continue;
    end = at + token->content.size();
    const bool is_word = !token->is_single_word || stands_alone(text.substr(0, at), text.substr(end));
    if (token->is_special || !is_word) continue;
    const std::size_t begin = token->strips_left ? std::max(begin_of_spaces(text.substr(0, at)), done) : at;
    const std::size_t stop = token->strips_right ? end + count_spaces(text.substr(end)) : end;
    if (begin >= stop) continue;  // the token before took it as white space
    if (done < begin) take(text.substr(done, begin - done), kNoLabel);
    take(text.substr(begin, stop - begin), token->number);
    done = stop;
  }
  if (done < text.size() || text.empty()) take(text.substr(done), kNoLabel);
}

}  // namespace eave
