// A text that grows: the logits of its next token, from the keys and values of the tokens before, and the choice of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "nn/graph.h"

namespace eave {

// Computes each token once. Attention reads the keys and values of the tokens before it from memory; all other layers
// treat a token by itself. The logits are those of a forward pass over the whole text, but for rounding.
class GrowingText {
 public:
  // `graph` is the model's, built for windows of one token (input 1 × 1 × 1); its parameters are those of any other
  // window. The text has at most `context` tokens. `compute` is a CPU's. All of them, and `parameters`, which lie in
  // host memory, must outlive this object. Throws Error(kConfiguration) if the graph's model is none of text.
  GrowingText(const Graph& graph, Compute& compute, ConstSlice parameters, std::int64_t context);

  std::int64_t size() const { return size_; }
  std::int64_t context() const { return context_; }
  std::int64_t places() const { return places_; }  // tokens whose keys and values there is memory for
  void clear() { size_ = 0; }
  // Appends the tokens, at least one and at most context() - size(), each in [0, classes). Returns the logits of the
  // next token, one for each class, which are valid until the next call.
  ConstSlice append(std::span<const std::int32_t> tokens);

 private:
  // The layers, planned for a number of tokens that are appended together.
  struct Rows {
    std::int64_t count = 0;
    std::vector<std::unique_ptr<LayerPlan>> plans;        // by node; nullptr: computed here
    std::vector<std::unique_ptr<UnaryPlan>> projections;  // of the skip, by node; nullptr: it fits
    std::vector<std::vector<float>> outputs;              // by node
    std::vector<float> projected, scratch;
  };
  struct Cache {
    std::int64_t stored = 0;          // numbers of a token: groups × width of a head
    std::vector<float> keys, values;  // places_ × stored
  };

  void make_room(std::int64_t tokens);
  Rows& rows_of(std::int64_t count);
  std::int64_t rows_in(std::size_t node, const Rows& rows) const;
  ConstSlice append_rows(std::span<const std::int32_t> tokens);
  void run(std::size_t node, Rows& rows, std::span<const std::int32_t> tokens);
  void run_layer(std::size_t node, Rows& rows);
  void look_up(std::size_t node, Rows& rows, std::span<const std::int32_t> tokens) const;
  void turn(const PlaceRole& role, ConstSlice input, Slice output, std::int64_t rows) const;
  void attend(const AttentionShape& shape, Cache& cache, ConstSlice input, Slice output, std::int64_t rows);
  ConstSlice parameters_of(std::size_t node) const;

  const Graph& graph_;
  Compute& compute_;
  const ConstSlice parameters_;
  const std::int64_t context_;
  std::int64_t size_ = 0, places_ = 0;
  std::map<std::size_t, Cache> caches_;  // by node
  std::vector<float> scores_;
  Rows one_, several_;
};

// How the next token of a text is chosen.
struct TokenChoice {
  double temperature = 1;  // logits are divided by it; 0: the most probable token
  std::int64_t top_k = 0;  // only this many of the most probable tokens; 0: all
  double top_p = 1;        // of these, only the most probable ones whose shares first reach this sum
};

// Draws a token with the probabilities softmax(logits / temperature), cut as `choice` says and divided by their sum.
// `number` is uniform in [0, 1). The same arguments give the same token. Of equally probable tokens, the lower number
// comes first. top_k: Fan, Lewis, Dauphin 2018, section 3.3. top_p, after top_k: Holtzman et al. 2020, section 3.1.
// `logits` are finite, at least one.
std::int32_t choose_token(ConstSlice logits, const TokenChoice& choice, double number);

}  // namespace eave
