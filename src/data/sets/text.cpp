// The dataset text: text files of the user's own, as bytes or as the tokens of a vocabulary.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "data/loading/staging.h"
#include "data/tokens/encoded_text.h"
#include "data/tokens/text_listing.h"
#include "data/tokens/text_parts.h"
#include "data/tokens/token_windows.h"
#include "data/tokens/vocabulary.h"
#include "data/tokens/vocabulary_files.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

fs::path text_place(const OptionValues& values) {
  if (values.has("data-dir")) return values.text("data-dir");
  throw Error(ExitCode::kInputMissing,
              "--data text has no usual place; name a folder of text files, or one file, with --data-dir");
}

// The bytes to train on, and behind them the bytes to test with. Kept in memory.
EncodedText join_bytes(const fs::path& folder, const TextParts& parts) {
  std::uint64_t size = 0;
  std::ptrdiff_t held = 0;
  for (const TextDocument& document : parts.documents) {
    size += document.size;
    held += static_cast<std::ptrdiff_t>(document.held);
  }
  std::vector<std::uint8_t> bytes(size);
  auto training = bytes.begin(), test = bytes.end() - held;
  EncodedText text;
  text.training = test - bytes.begin();
  for (const TextDocument& document : parts.documents) {
    const std::vector<std::uint8_t> content = read_document(folder, document);
    const auto middle = content.end() - static_cast<std::ptrdiff_t>(document.held);
    training = std::copy(content.begin(), middle, training);
    test = std::copy(middle, content.end(), test);
  }
  text.stream = std::make_shared<MemoryTokens<std::uint8_t>>(std::move(bytes));
  return text;
}

std::string describe_text(const TextListing& listing, const TextParts& parts, const EncodedText& text,
                          const Vocabulary& vocabulary, const OptionValues& values) {
  const auto of_tests = std::ranges::count_if(parts.documents, [](const auto& each) { return each.held > 0; });
  const std::string held = parts.are_cut ? "the end of each file" : count_text(of_tests, "file");
  return count_text(std::ssize(parts.documents), "file") + "; " + count_text(text.training, "token") +
         " to train on, " + std::to_string(text.stream->size() - text.training) + " to test with, from " + held +
         " held out by --text-test-share " + values.text("text-test-share") + "; vocabulary: " + vocabulary.describe() +
         (text.note.empty() ? "" : "; " + text.note) + describe_passed_over(listing);
}

// Whole files are held out, so a large one may take most of the text. The end of a file is held out from the beginning
// of a line, so a long line may take most of a small file.
std::vector<std::string> warn_of_share(const EncodedText& text, bool are_cut, double wanted) {
  const double held = 1 - static_cast<double>(text.training) / static_cast<double>(text.stream->size());
  if (held < 3 * wanted && held > wanted / 3) return {};
  const auto percent = [](double share) {
    return number_text(share < 0.001 ? 100 * share : std::round(1000 * share) / 10) + " %";
  };
  return {percent(held) + " of the text are held out for tests where --text-test-share asks for " + percent(wanted) +
          (are_cut ? ", because the end of each file is held out from the beginning of a line, and these lines are "
                     "long for files of this size: break lines, or give more text"
                   : ", because whole files are held out and they differ in size: join them into one file, of which "
                     "the end is held out")};
}

// The tokens that the model knows: at least those of the vocabulary. Tables of weights are often larger.
int count_tokens(const Vocabulary& vocabulary, const OptionValues& values) {
  if (!values.has("vocabulary-size")) return vocabulary.size();
  const auto size = static_cast<int>(values.integer("vocabulary-size", 1, kMostTokens));
  if (size >= vocabulary.size()) return size;
  throw Error(ExitCode::kUsage, "--vocabulary-size " + std::to_string(size) + ": the vocabulary has " +
                                    count_text(vocabulary.size(), "token") +
                                    "; give at least as many, or leave it out");
}

DataSplit open_text(const OptionValues& values) {
  const int context = context_of(values);
  const double share = test_share_of(values);
  TextListing listing = list_text(text_place(values));
  if (values.has("stage-to")) listing.folder = stage_files(listing.folder, listing.names, values.text("stage-to"));
  const std::unique_ptr<Vocabulary> vocabulary = open_vocabulary(values.text("vocabulary"));
  const int tokens = count_tokens(*vocabulary, values);
  const TextParts parts = part_text(listing, share);
  const bool are_bytes = values.text("vocabulary") == "bytes";
  const EncodedText text = are_bytes ? join_bytes(listing.folder, parts)
                                     : encode_text(listing.folder, parts, *vocabulary, cache_folder("tokens"));
  DataSplit split;
  split.note = describe_text(listing, parts, text, *vocabulary, values);
  split.warnings = warn_of_share(text, parts.are_cut, share);
  split.identity = "context " + std::to_string(context) + ", " + identity_of(parts, *vocabulary);
  split.differences = "the text, --text-test-share, --context or --vocabulary has changed";
  split.vocabulary = hash_of_tokens(*vocabulary);
  for (const TextDocument& document : parts.documents) split.test_bytes += static_cast<std::int64_t>(document.held);
  split.train = training_windows(text.stream, text.training, context, tokens);
  split.test = test_windows(text.stream, text.training, context, tokens);
  return split;
}

std::vector<OptionSpec> text_options() {
  std::vector<OptionSpec> options = token_data_options();
  options.push_back({"vocabulary",
                     OptionType::kPath,
                     "bytes",
                     "what a token is: bytes (256 tokens), or byte pairs by a folder with GPT-2's encoder.json and "
                     "vocab.bpe, or by a tokenizer.json of BPE, as Llama, Qwen, Mistral and Gemma have it",
                     {},
                     {"bytes"}});
  return options;
}

}  // namespace

DatasetKind describe_dataset_text() {
  return {"text",
          "text files of your own: all files in the folder --data-dir and below it, each a document, or one file",
          text_options(),
          open_text,
          nullptr,
          true};
}

}  // namespace eave
