// Generates tokens with a model of text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/commands/stored_model.h"
#include "eave/compute.h"
#include "nn/growing_text.h"

namespace eave {

// The tokens of a text, and which one follows. The model sees the last tokens, at most its context: if that is full,
// the window moves on by a quarter of it, so that most tokens are computed once only. Then all tokens of the window get
// other places, and are computed again.
class Generation {
 public:
  // Throws Error(kConfiguration) if the model is none of text. `model` outlives this object.
  Generation(const StoredModel& model, int threads);

  std::int64_t context() const { return text_.context(); }  // tokens that the model sees at most
  // Begins a text. Of a prompt that is longer than the context, the model sees the last tokens.
  void begin(const std::vector<std::int32_t>& prompt);  // at least one token
  // Draws the next token among those below `limit`, and appends it. The random number belongs to (seed, sample, number
  // of the token behind the prompt). Throws Error(kBadData) if the model gives logits that are not finite.
  std::int32_t next(const TokenChoice& choice, std::int32_t limit, std::uint64_t seed, std::uint32_t sample);

 private:
  const Graph graph_;  // for windows of one token
  const std::unique_ptr<Compute> compute_;
  GrowingText text_;
  std::vector<std::int32_t> tokens_;
  std::size_t computed_ = 0;  // tokens_ before this one are in text_, or before its window
  std::uint64_t drawn_ = 0;
};

}  // namespace eave
