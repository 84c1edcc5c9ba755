// BPE of characters, with U+2581 for spaces: Llama 2's kind, which SentencePiece made first.
#pragma once

#include <memory>
#include <string>

#include "data/tokens/byte_pairs.h"
#include "data/tokens/table_vocabulary.h"
#include "data/tokens/tokenizer_json.h"

namespace eave {

// `name` is the path of the file. Fills in the bytes of the table's tokens. The text is of the kind kCharacters. Throws
// Error(kBadData) if U+2581, or a byte with byte_fallback, has no token, or such a token of a byte is merged.
std::unique_ptr<Vocabulary> make_character_pairs(const TokenizerText& text, PairMerges merges, TokenTable table,
                                                 const std::string& name);

}  // namespace eave
