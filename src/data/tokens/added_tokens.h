// Finds added tokens in texts, such as <tool_call> or runs of spaces, as Hugging Face's tokenizers find them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "eave/batch.h"

namespace eave {

// An entry of a tokenizer.json's added_tokens.
struct AddedToken {
  std::string content = {};
  std::int32_t number = kNoLabel;
  bool is_special = true;
  bool is_normalized = false;                      // is looked for in the text that the normalizer gives
  bool is_single_word = false;                     // no letter, digit or _ may stand beside it
  bool strips_left = false, strips_right = false;  // takes white space beside it
};

bool is_white_space(std::string_view text);

// A token that stands in a text becomes its number, and what stands between is encoded without it. The leftmost is
// taken, and of those the longest. Special tokens are never taken, so that no text can hold the end of a document. As
// in tokenizers with encode_special_tokens, no other token is looked for within a special one.
class AddedTokenSearch {
 public:
  AddedTokenSearch() = default;
  // Looks for tokens whose is_normalized is the given one, each as `normalize` gives it.
  AddedTokenSearch(std::span<const AddedToken> tokens, bool is_normalized,
                   const std::function<std::string(std::string_view)>& normalize);

  bool is_empty() const { return tokens_.empty(); }  // there is nothing to look for

  // Calls `take` on parts of the text from left to right: on a piece between tokens with kNoLabel, or on a token with
  // its number. It is called once, on all of the text, if no token is found.
  using Take = std::function<void(std::string_view part, std::int32_t token)>;
  void split(std::string_view text, const Take& take) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t at) const;

  // A tree of the tokens' bytes. Node 0 is its root.
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;  // by the node before and a byte
  std::vector<std::int32_t> token_of_node_;                 // index in tokens_, or -1
  std::array<bool, 256> begins_{};                          // whether a token begins with this byte
};

}  // namespace eave
