// Cuts a stream of tokens into the windows that a model trains on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "eave/dataset.h"
#include "eave/options.h"

namespace eave {

// Tokens in their order. Several threads may call `read` at once.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  virtual std::int64_t size() const = 0;
  // Writes the tokens from number `first` on; first + tokens.size() <= size().
  virtual void read(std::int64_t first, std::span<std::int32_t> tokens) const = 0;
};

// A stream whose tokens lie in memory as Values, such as bytes.
template <typename Value>
class MemoryTokens final : public TokenStream {
 public:
  explicit MemoryTokens(std::vector<Value> tokens) : tokens_(std::move(tokens)) {}
  std::int64_t size() const override { return std::ssize(tokens_); }
  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    std::copy_n(tokens_.begin() + first, tokens.size(), tokens.begin());
  }

 private:
  std::vector<Value> tokens_;
};

// Tokens [first, last) of a stream, at least 2, as windows of `context`. Window w begins at token first + w × context.
class TokenWindows final : public TokenDataset {
 public:
  TokenWindows(std::shared_ptr<const TokenStream> stream, std::int64_t first, std::int64_t last, int context,
               int classes);
  std::int64_t size() const override;
  int classes() const override { return classes_; }
  int context() const override { return context_; }
  void read_tokens(std::int64_t index, std::span<std::int32_t> tokens) const override;

 private:
  std::shared_ptr<const TokenStream> stream_;
  std::int64_t first_;
  std::int64_t last_;
  int context_;
  int classes_;
};

// The options of all datasets of tokens: those of files, --context, --text-test-share and --vocabulary-size.
std::vector<OptionSpec> token_data_options();
int context_of(const OptionValues& values);
double test_share_of(const OptionValues& values);

// The windows of the training set. Throws Error(kConfiguration) if the text has fewer than `context` + 1 tokens.
std::unique_ptr<Dataset> training_windows(std::shared_ptr<const TokenStream> stream, std::int64_t last, int context,
                                          int classes);
// The windows of the test set, whose only window may have fewer tokens than `context`. Throws Error(kBadData) if there
// are fewer than 2 tokens.
std::unique_ptr<Dataset> test_windows(std::shared_ptr<const TokenStream> stream, std::int64_t first, int context,
                                      int classes);

}  // namespace eave
