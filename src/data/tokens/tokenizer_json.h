// Reads a tokenizer.json of Hugging Face's tokenizers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokens/added_tokens.h"
#include "data/tokens/regular_cut.h"
#include "data/tokens/vocabulary_files.h"

namespace eave {

struct TokenizerText : VocabularyText {
  enum class Kind { kGpt2, kBytes, kCharacters };
  Kind kind = Kind::kGpt2;
  std::int32_t opening = kNoLabel;  // the token that stands before each document
  std::vector<AddedToken> added_tokens;
  // For the identity: of what the file has, all that changes tokens and that eave once passed over.
  std::string newly_read;

  // kBytes
  bool composes = false;           // to NFC
  std::vector<RegularCut> cuts;    // one after another, each in the pieces of the one before
  bool cuts_as_gpt2 = false;       // after the others
  bool takes_whole_words = false;  // a word that is a token is this token, whatever its merges give

  // kCharacters: the character U+2581 stands for a space.
  enum class FirstSpace { kNone, kAlways, kIfThereIsNone, kIfThereIsNoneAtBegin };
  FirstSpace first_space = FirstSpace::kNone;  // is put before each piece between added tokens
  bool marks_in_normalizer = false;            // so added tokens may be looked for among marks
  bool cuts_at_spaces = false;
  bool falls_back = false;  // an unknown character becomes the tokens of its bytes, such as <0x0A>
  std::int32_t unknown = kNoLabel;
  bool fuses_unknown = false;  // unknown characters in a row are one token
};

// Throws Error(kBadData), which begins with `name`, the path of the file, if the file is damaged, or has something that
// changes tokens and that eave does not read. Ignores truncation, padding and the decoder, and takes only the tokens
// before and behind a document from the post-processor.
TokenizerText parse_tokenizer_json(std::string_view json, const std::string& name);

}  // namespace eave
