// Byte-level BPE: each word becomes the tokens of its bytes, then pairs are merged.
#pragma once

#include <memory>
#include <string>

#include "data/tokens/byte_pairs.h"
#include "data/tokens/table_vocabulary.h"
#include "data/tokens/tokenizer_json.h"

namespace eave {

// `name` is the path of the file of numbers. Fills in the bytes of the table's tokens. The text is of the kind kGpt2 or
// kBytes. Throws Error(kBadData) if a byte has no token.
std::unique_ptr<Vocabulary> make_byte_level(TokenizerText text, PairMerges merges, TokenTable table,
                                            const std::string& name);

}  // namespace eave
