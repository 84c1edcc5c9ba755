// Turns text into tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eave/batch.h"

namespace eave {

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual int size() const = 0;              // tokens are in [0, size())
  virtual std::string describe() const = 0;  // for the card: "bytes, as they are"
  // Vocabularies with equal identities encode alike. That of byte pairs has the version of Unicode.
  virtual std::string identity() const = 0;
  // The token that stands behind each document, such as "<|endoftext|>" or "</s>"; kNoLabel if the vocabulary has none.
  virtual std::int32_t separator() const { return kNoLabel; }
  // The token that stands before each document, such as "<s>"; kNoLabel if the vocabulary has none.
  virtual std::int32_t opening() const { return kNoLabel; }
  // Appends the tokens of `text`, which may be any bytes, also if they are no UTF-8. Not thread-safe. Throws
  // Error(kBadData) if the vocabulary cannot cut the text.
  virtual void encode(std::span<const std::uint8_t> text, std::vector<std::int32_t>& tokens) = 0;
  // The bytes that a token stands for. Those of a text's tokens, one after another, are the text, with these
  // exceptions: a vocabulary that begins_with_space() puts a space before it; one that normalises gives it in NFC; one
  // that writes spaces as U+2581 gives a space for this character, and its unk_token's text for what it has no token
  // for; and an added token that takes white space beside it gives none of it.
  virtual std::string bytes_of(std::int32_t token) const = 0;
  // Whether encode() begins a text with a space, if it has none there. So the text of Llama 2's tokens begins with one
  // that was not written.
  virtual bool begins_with_space() const { return false; }
};

// A hash of the bytes of all tokens in turn. Vocabularies that write the same tokens as the same text have the same,
// also if they are of other files.
std::string hash_of_tokens(const Vocabulary& vocabulary);

// `choice` is "bytes", a tokenizer.json, or a folder that holds one, or encoder.json and vocab.bpe, or vocab.json and
// merges.txt. Throws Error: kInputMissing if there are no such files; kBadData if they are damaged, do not belong
// together, or are of a kind that eave does not read.
std::unique_ptr<Vocabulary> open_vocabulary(const std::string& choice);

}  // namespace eave
