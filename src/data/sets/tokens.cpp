// The dataset tokens: files that nanoGPT or llm.c wrote.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/options/number_text.h"
#include "data/files/mapped_file.h"
#include "data/loading/staging.h"
#include "data/sets/token_listing.h"
#include "data/tokens/token_file.h"
#include "data/tokens/token_windows.h"
#include "data/tokens/vocabulary_files.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostChecked = std::uint64_t{1} << 30;
constexpr int kTokensOf16Bits = 65536;

fs::path token_place(const OptionValues& values) {
  if (values.has("data-dir")) return values.text("data-dir");
  throw Error(ExitCode::kInputMissing, std::string("--data tokens has no usual place") + kHowToNameTokens);
}

// 0 if it is not given.
int given_vocabulary(const OptionValues& values) {
  return values.has("vocabulary-size") ? static_cast<int>(values.integer("vocabulary-size", 1, kMostTokens)) : 0;
}

std::vector<TokenFiles::File> open_token_files(const fs::path& folder, const std::vector<std::string>& names,
                                               int vocabulary) {
  std::vector<TokenFiles::File> files;
  for (const std::string& name : names) {
    auto source = std::make_unique<MappedFile>(FileSource(folder / name));
    const TokenFormat format = read_token_format(*source, vocabulary);
    files.push_back({std::move(source), format});
  }
  return files;
}

// A file whose header says another size than that of an earlier file is refused. nullptr: no file has a header.
const TokenFiles::File* file_with_header(const std::vector<const TokenFiles::File*>& files) {
  const TokenFiles::File* first = nullptr;
  for (const TokenFiles::File* file : files) {
    if (file->format.vocabulary == 0) continue;
    if (first == nullptr) first = file;
    if (file->format.vocabulary == first->format.vocabulary) continue;
    throw Error(ExitCode::kUsage,
                file->source->name() + " and " + first->source->name() +
                    " have different vocabularies, as their headers say: " + std::to_string(file->format.vocabulary) +
                    " and " + count_text(first->format.vocabulary, "token") + "; keep the files of one vocabulary");
  }
  return first;
}

// The size that is given, or else that of the headers. Models may know more tokens than the headers say, not fewer.
int vocabulary_of(const OptionValues& values, const std::vector<TokenFiles::File>& train,
                  const std::vector<TokenFiles::File>& test) {
  std::vector<const TokenFiles::File*> files;
  for (const auto* part : {&train, &test}) {
    for (const TokenFiles::File& file : *part) files.push_back(&file);
  }
  const TokenFiles::File* const known = file_with_header(files);
  if (const int size = given_vocabulary(values); size > 0) {
    if (known == nullptr || size >= known->format.vocabulary) return size;
    throw Error(ExitCode::kUsage, "--vocabulary-size " + std::to_string(size) + ": the header of " +
                                      known->source->name() + " says " + count_text(known->format.vocabulary, "token") +
                                      "; give at least as many, or leave it out");
  }
  const auto silent = std::ranges::find_if(files, [](const auto* file) { return file->format.vocabulary == 0; });
  if (silent == files.end()) return known->format.vocabulary;
  throw Error(
      ExitCode::kUsage,
      (*silent)->source->name() +
          " does not say how many tokens its vocabulary has; give --vocabulary-size, such as 50257 for GPT-2's. "
          "nanoGPT's prepare.py prints it, and keeps it in meta.pkl");
}

std::string name_files(const std::vector<std::string>& names) {
  const auto more = std::ssize(names) - 1;
  return names.front() + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string describe_tokens(const TokenNames& names, std::int64_t train, std::int64_t test,
                            const OptionValues& values) {
  return count_text(train, "token") + " to train on, from " + name_files(names.train) + "; " + std::to_string(test) +
         " to test with, " +
         (names.test.empty() ? "the end of the files, held out by --text-test-share " + values.text("text-test-share")
                             : "from " + name_files(names.test)) +
         (values.has("vocabulary-size") ? "" : "; vocabulary: that of llm.c's header") + describe_others(names);
}

// A model with more tokens than 16 bits hold may be trained further on its first tokens only. But a writer that has cut
// larger tokens to 16 bits leaves no trace.
std::vector<std::string> warn_of_16_bits(const std::vector<TokenFiles::File>& files, int vocabulary) {
  const auto narrow = std::ranges::find_if(files, [](const TokenFiles::File& file) {
    return file.format.vocabulary == 0 && file.format.bytes_per_token == 2;
  });
  if (vocabulary <= kTokensOf16Bits || narrow == files.end()) return {};
  return {narrow->source->name() + " is read as tokens of 16 bits, which are below " + std::to_string(kTokensOf16Bits) +
          ", and the vocabulary has " + count_text(vocabulary, "token") +
          ": if the text has larger tokens, write uint32 behind llm.c's header"};
}

DataSplit open_tokens(const OptionValues& values) {
  const int context = context_of(values);
  const double share = test_share_of(values);
  TokenNames names = list_tokens(token_place(values));
  if (!names.test.empty() && values.given("text-test-share")) {
    throw Error(ExitCode::kUsage, "--text-test-share has no effect: the test set is " +
                                      (names.folder / names.test.front()).string() + "; leave out one of the two");
  }
  if (values.has("stage-to")) {
    std::vector<std::string> all = names.train;
    all.insert(all.end(), names.test.begin(), names.test.end());
    names.folder = stage_files(names.folder, all, values.text("stage-to"));
  }
  const int given = given_vocabulary(values);
  std::vector<TokenFiles::File> train_files = open_token_files(names.folder, names.train, given);
  std::vector<TokenFiles::File> test_files = open_token_files(names.folder, names.test, given);
  const int vocabulary = vocabulary_of(values, train_files, test_files);
  DataSplit split;
  split.warnings = warn_of_16_bits(train_files, vocabulary);
  const auto train = std::make_shared<TokenFiles>(std::move(train_files), vocabulary);
  const auto test = names.test.empty() ? train : std::make_shared<TokenFiles>(std::move(test_files), vocabulary);
  const std::int64_t held = std::llround(share * static_cast<double>(train->size()));
  const std::int64_t cut = names.test.empty() ? train->size() - held : train->size();
  const std::int64_t first_of_test = names.test.empty() ? cut : 0;
  split.identity = "tokens, context " + std::to_string(context) + ", " + std::to_string(cut) + " of " +
                   train->check(kMostChecked) + ", " + (names.test.empty() ? "" : test->check(kMostChecked));
  split.differences = "the files, --text-test-share or --context have changed";
  split.note = describe_tokens(names, cut, test->size() - first_of_test, values);
  split.train = training_windows(train, cut, context, vocabulary);
  split.test = test_windows(test, first_of_test, context, vocabulary);
  return split;
}

}  // namespace

DatasetKind describe_dataset_tokens() {
  return {"tokens",
          "files of tokens of nanoGPT or llm.c in --data-dir: *.bin; those with val or test in their name are the test "
          "set",
          token_data_options(),
          open_tokens,
          nullptr,
          true};
}

}  // namespace eave
