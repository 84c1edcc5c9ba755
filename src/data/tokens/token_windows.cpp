#include "data/tokens/token_windows.h"

#include <string>

#include "base/options/number_text.h"
#include "data/files/data_directory.h"
#include "eave/check.h"

namespace eave {

TokenWindows::TokenWindows(std::shared_ptr<const TokenStream> stream, std::int64_t first, std::int64_t last,
                           int context, int classes)
    : stream_(std::move(stream)), first_(first), last_(last), context_(context), classes_(classes) {
  EAVE_CHECK(first >= 0 && first + 2 <= last && last <= stream_->size(), "a part of the stream with a label");
}

// The last token is a label only.
std::int64_t TokenWindows::size() const { return (last_ - first_ - 1 + context_ - 1) / context_; }

void TokenWindows::read_tokens(std::int64_t index, std::span<std::int32_t> tokens) const {
  EAVE_CHECK(tokens.size() == static_cast<std::size_t>(context_) + 1, "room for a window and its last label");
  const std::int64_t begin = first_ + index * context_;
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(context_ + 1, last_ - begin));
  stream_->read(begin, tokens.first(count));
  std::ranges::fill(tokens.subspan(count), kNoLabel);
}

std::vector<OptionSpec> token_data_options() {
  std::vector<OptionSpec> options = data_file_options();
  const std::vector<OptionSpec> own = {
      {"context", OptionType::kInteger, "64",
       "tokens per sample, which the model sees at once. If the model has a table of positions, its size is the "
       "default"},
      {"text-test-share", OptionType::kReal, "0.1",
       "approximate share of the text to hold out for tests, if it has no test part of its own; the same for all "
       "seeds"},
      {"vocabulary-size", OptionType::kInteger, "",
       "number of tokens that the model knows (default: as many as --vocabulary has, or llm.c's header says); may be "
       "larger than the vocabulary, such as 50304 for the 50257 of GPT-2"}};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

int context_of(const OptionValues& values) { return static_cast<int>(values.integer("context", 1, 1 << 20)); }

double test_share_of(const OptionValues& values) {
  const double share = values.real("text-test-share");
  if (share > 0 && share < 1) return share;
  throw Error(ExitCode::kUsage,
              "--text-test-share " + number_text(share) + ": expected a share above 0 and below 1, such as 0.1");
}

std::unique_ptr<Dataset> training_windows(std::shared_ptr<const TokenStream> stream, std::int64_t last, int context,
                                          int classes) {
  if (last <= context) {
    const std::int64_t held = stream->size() - last;
    throw Error(ExitCode::kConfiguration,
                "--context " + std::to_string(context) + " is too long: the text to train on has " +
                    count_text(last, "token") +
                    (held > 0 ? ", as --text-test-share holds out " + std::to_string(held) : "") + "; " +
                    (last < 2 ? "" : "give at most " + std::to_string(last - 1) + ", or ") +
                    (held > 0 ? "give a smaller --text-test-share, or " : "") + "add text");
  }
  return std::make_unique<TokenWindows>(std::move(stream), 0, last, context, classes);
}

std::unique_ptr<Dataset> test_windows(std::shared_ptr<const TokenStream> stream, std::int64_t first, int context,
                                      int classes) {
  const std::int64_t tokens = stream->size() - first;
  if (tokens < 2) {
    throw Error(ExitCode::kBadData, "the text to test with has " + count_text(tokens, "token") +
                                        ", and needs at least 2: " +
                                        (first == 0 ? "add tokens to the files with val or test in their name"
                                                    : "add text, or give a larger --text-test-share"));
  }
  const std::int64_t last = stream->size();
  return std::make_unique<TokenWindows>(std::move(stream), first, last, context, classes);
}

}  // namespace eave
