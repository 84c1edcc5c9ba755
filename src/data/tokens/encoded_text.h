// Encodes the documents of a text, and keeps the tokens in a file for the next run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/tokens/text_parts.h"
#include "data/tokens/token_windows.h"
#include "data/tokens/vocabulary.h"

namespace eave {

// The tokens to train on, and behind them the tokens to test with.
struct EncodedText {
  std::shared_ptr<const TokenStream> stream;
  std::int64_t training = 0;
  std::string note;  // for the card: where the tokens are kept; "" if they are not
};

// A hash of the documents, what is held out of each, and the vocabulary.
std::string identity_of(const TextParts& parts, const Vocabulary& vocabulary);

// Reads the tokens from `cache` if an earlier call kept them there under the text's identity and they are whole.
// Otherwise encodes the documents and keeps their tokens there, with 16 bits each if the vocabulary has at most 65,536,
// otherwise 32. The opening stands before each document, the separator behind it. The ranks of a host come here at the
// same time; one encodes, and the others wait. If `cache` is empty or cannot be written, the tokens stay in memory.
// Throws Error(kInputMissing or kInputOutput) if a document cannot be read, or has changed.
EncodedText encode_text(const std::filesystem::path& folder, const TextParts& parts, Vocabulary& vocabulary,
                        const std::filesystem::path& cache);

}  // namespace eave
