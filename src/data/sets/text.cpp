// The dataset text: text files of the user's own, each byte a token.
#include <filesystem>
#include <memory>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "data/files/data_directory.h"
#include "data/loading/staging.h"
#include "data/tokens/text_listing.h"
#include "data/tokens/text_parts.h"
#include "data/tokens/token_windows.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr int kByteValues = 256;

class ByteTokens final : public TokenStream {
 public:
  explicit ByteTokens(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    std::copy_n(bytes_.begin() + first, tokens.size(), tokens.begin());
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

fs::path text_place(const OptionValues& values) {
  if (values.has("data-dir")) return values.text("data-dir");
  throw Error(ExitCode::kInputMissing,
              "--data text has no usual place; name a folder of text files, or one file, with --data-dir");
}

// The bytes to train on, and behind them the bytes to test with.
struct JoinedText {
  std::vector<std::uint8_t> bytes;
  std::int64_t training = 0;
  std::int64_t test_documents = 0;
  std::string identity;
};

JoinedText join(const fs::path& folder, const TextParts& parts) {
  std::uint64_t size = 0;
  for (const TextDocument& document : parts.documents) size += document.size;
  JoinedText text;
  text.bytes.resize(size);
  Hasher hasher;
  auto training = text.bytes.begin(), test = text.bytes.begin();
  for (const TextDocument& document : parts.documents)
    test += static_cast<std::ptrdiff_t>(document.size - document.held);
  text.training = test - text.bytes.begin();
  for (const TextDocument& document : parts.documents) {
    const std::vector<std::uint8_t> content = read_document(folder, document);
    const auto middle = content.end() - static_cast<std::ptrdiff_t>(document.held);
    training = std::copy(content.begin(), middle, training);
    test = std::copy(middle, content.end(), test);
    text.test_documents += document.held > 0 ? 1 : 0;
    hasher.add(document.hash.text() + " " + std::to_string(document.held) + " ");
  }
  text.identity = hasher.hash().text();
  return text;
}

std::string describe_text(const TextListing& listing, const TextParts& parts, const JoinedText& text,
                          const OptionValues& values) {
  const auto all = static_cast<std::int64_t>(text.bytes.size());
  const std::string held = parts.are_cut ? "the end of each file" : count_text(text.test_documents, "file");
  return count_text(static_cast<std::int64_t>(parts.documents.size()), "file") + "; " +
         count_text(text.training, "token") + " to train on, " + std::to_string(all - text.training) +
         " to test with, from " + held + " held out by --text-test-share " + values.text("text-test-share") +
         "; vocabulary: bytes, as they are" + describe_passed_over(listing);
}

DataSplit open_text(const OptionValues& values) {
  const int context = context_of(values);
  const double share = test_share_of(values);
  TextListing listing = list_text(text_place(values));
  if (values.has("stage-to")) listing.folder = stage_files(listing.folder, listing.names, values.text("stage-to"));
  const TextParts parts = part_text(listing, share);
  JoinedText text = join(listing.folder, parts);
  DataSplit split;
  split.note = describe_text(listing, parts, text, values);
  split.identity = "bytes, context " + std::to_string(context) + ", " + text.identity;
  const std::int64_t training = text.training;
  const auto stream = std::make_shared<ByteTokens>(std::move(text.bytes));
  split.train = training_windows(stream, training, context, kByteValues);
  split.test = test_windows(stream, training, context, kByteValues);
  return split;
}

std::vector<OptionSpec> text_options() {
  std::vector<OptionSpec> options = data_file_options();
  const std::vector<OptionSpec> windows = window_options();
  options.insert(options.end(), windows.begin(), windows.end());
  options.push_back({"vocabulary", OptionType::kText, "bytes", "tokens of the text: bytes, 256 of them", {"bytes"}});
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
