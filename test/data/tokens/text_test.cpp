// The dataset text: which bytes are trained on, which are held out, and what is refused.
#include <gtest/gtest.h>

#include <set>

#include "data/tokens/text_parts.h"
#include "test/data/data_files.h"
#include "test/data/tokens/text_files.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class Texts : public testing::Test {
 protected:
  const fs::path& place() const { return directory_.path(); }
  void add(const std::string& name, const std::string& text) { write_text(place() / name, text); }
  DataSplit open(std::map<std::string, std::string> given = {}) const {
    given.emplace("data-dir", place().string());
    return open_dataset("text", given);
  }
  Refusal refused(const std::map<std::string, std::string>& given = {}) const {
    return refusal_of([&] { open(given); });
  }
  std::string identity(const std::map<std::string, std::string>& given = {}) const {
    DataSplit split = open(given);
    hash_identity(split);
    return split.identity;
  }

 private:
  TemporaryDirectory directory_;
};

std::string string_of(const Dataset& dataset) {
  std::string text;
  for (const std::int32_t token : text_of(dataset)) text += static_cast<char>(token);
  return text;
}

TEST_F(Texts, of_one_file_train_on_its_beginning_and_test_with_the_lines_at_its_end) {
  const std::string text = document_of(1, 300);
  add("one.txt", text);
  const DataSplit split = open();
  const std::string train = string_of(*split.train), test = string_of(*split.test);
  EXPECT_EQ(train + test, text);
  EXPECT_EQ(train.back(), '\n');
  EXPECT_NEAR(static_cast<double>(test.size()), 0.1 * static_cast<double>(text.size()), 30);
  EXPECT_EQ(string_of(*open({{"data-dir", (place() / "one.txt").string()}}).train), train)
      << "the file itself is given";
}

TEST_F(Texts, are_bytes_as_they_are_also_if_they_are_no_utf8) {
  std::string text = "\xff\xfe\x80 ";
  for (int value = 1; value < 256; ++value) text += static_cast<char>(value);
  add("one.txt", text + text);
  const DataSplit split = open({{"context", "5"}});
  EXPECT_EQ(split.train->classes(), 256);
  EXPECT_EQ(string_of(*split.train) + string_of(*split.test), text + text);
}

TEST_F(Texts, may_be_for_a_model_that_knows_more_tokens_than_the_vocabulary_has) {
  add("one.txt", document_of(1, 300));
  const DataSplit split = open({{"vocabulary-size", "300"}});
  EXPECT_EQ(split.train->classes(), 300);
  EXPECT_EQ(split.test->classes(), 300);
  EXPECT_EQ(open({{"vocabulary-size", "256"}}).train->classes(), 256);
  for (const char* size : {"255", "1"})
    expect_refusal(refused({{"vocabulary-size", size}}), ExitCode::kUsage, {"--vocabulary-size", "256"});
}

TEST_F(Texts, are_read_in_the_order_of_their_names_in_all_folders) {
  add("b.txt", document_of(2, 50));
  add("a/z.md", document_of(1, 50));
  add("a/deep/er.txt", document_of(0, 50));
  const DataSplit split = open({{"text-test-share", "0.01"}});
  const std::string train = string_of(*split.train);
  const std::string wanted = document_of(0, 50) + document_of(1, 50) + document_of(2, 50);
  EXPECT_LT(train.find("document 0"), train.find("document 1"));
  EXPECT_LT(train.find("document 1"), train.find("document 2"));
  EXPECT_EQ(train.size() + string_of(*split.test).size(), wanted.size());
}

TEST_F(Texts, of_many_files_hold_out_whole_ones_whatever_their_names) {
  for (int i = 0; i < 100; ++i) add(std::to_string(i), document_of(i, 10));
  const std::string held = string_of(*open({{"text-test-share", "0.2"}}).test);
  std::set<int> numbers;
  for (int i = 0; i < 100; ++i) {
    if (held.find(document_of(i, 10)) != std::string::npos) numbers.insert(i);
  }
  EXPECT_GT(numbers.size(), 8u);
  EXPECT_LT(numbers.size(), 36u);
  fs::rename(place() / std::to_string(*numbers.begin()), place() / "zzz");
  for (int i = 100; i < 150; ++i) add("more/" + std::to_string(i), document_of(i, 10));
  const std::string later = string_of(*open({{"text-test-share", "0.2"}}).test);
  for (const int number : numbers) EXPECT_NE(later.find(document_of(number, 10)), std::string::npos) << number;
}

TEST_F(Texts, of_which_another_share_is_held_out_than_asked_for_are_warned_of) {
  for (int i = 0; i < 9; ++i) add(std::to_string(i), document_of(i, 10));
  bool was_told = false, was_silent = false;
  for (int i = 0; i < 60 && !(was_told && was_silent); ++i) {
    add("large", document_of(1000 + i, 50));
    const DataSplit split = open();
    const auto held = static_cast<double>(string_of(*split.test).size());
    const double share = held / (held + static_cast<double>(string_of(*split.train).size()));
    const bool is_other = share > 0.31 || share < 0.03;
    if (share > 0.29 && share < 0.31) continue;
    ASSERT_EQ(split.warnings.size(), is_other ? 1u : 0u) << i << ": " << share;
    (is_other ? was_told : was_silent) = true;
    if (is_other) {
      EXPECT_NE(split.warnings[0].find("where --text-test-share asks for 10 %"), std::string::npos);
    }
  }
  EXPECT_TRUE(was_told && was_silent);
}

TEST_F(Texts, of_which_hardly_any_is_asked_for_are_warned_of_with_that_share) {
  for (int i = 0; i < 9; ++i) add(std::to_string(i), document_of(i, 10));
  const DataSplit split = open({{"text-test-share", "0.00001"}});
  ASSERT_EQ(split.warnings.size(), 1u);
  EXPECT_NE(split.warnings[0].find("where --text-test-share asks for 0.001 %"), std::string::npos) << split.warnings[0];
}

TEST_F(Texts, of_long_lines_are_warned_of_with_the_reason) {
  std::string text;
  for (int line = 0; line < 10; ++line) text.append(2000, 'x').append("\n");
  add("one.txt", text);
  const DataSplit split = open({{"text-test-share", "0.02"}});
  ASSERT_EQ(split.warnings.size(), 1u);
  for (const char* words : {"10 % of the text are held out", "asks for 2 %", "from the beginning of a line"})
    EXPECT_NE(split.warnings[0].find(words), std::string::npos) << split.warnings[0];
  EXPECT_EQ(split.warnings[0].find("join them"), std::string::npos) << split.warnings[0];
}

TEST_F(Texts, keep_copies_of_one_document_together) {
  for (int i = 0; i < 40; ++i) {
    add("one/" + std::to_string(i), document_of(i, 10));
    add("two/" + std::to_string(i), document_of(i, 10));
  }
  const DataSplit split = open({{"text-test-share", "0.3"}});
  const std::string train = string_of(*split.train), test = string_of(*split.test);
  for (int i = 0; i < 40; ++i) {
    const bool is_trained = train.find(document_of(i, 10)) != std::string::npos;
    EXPECT_NE(is_trained, test.find(document_of(i, 10)) != std::string::npos) << i;
  }
}

TEST_F(Texts, pass_over_what_is_no_text_and_say_so) {
  add("good.txt", document_of(1, 100));
  add("empty.txt", "");
  add("picture.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
  add(".hidden", "not to be read");
  fs::create_directory_symlink(place(), place() / "loop");
  const DataSplit split = open();
  EXPECT_EQ(string_of(*split.train).find("hidden"), std::string::npos);
  for (const char* words : {"1 file;", "3 entries that are no text (.hidden, loop/, picture.png), 1 empty file"})
    EXPECT_NE(split.note.find(words), std::string::npos) << split.note;
}

TEST_F(Texts, pass_over_files_of_other_kinds_without_a_zero_byte) {
  add("good.txt", document_of(1, 100));
  add("gif.txt", "GIF89a is a format of images. " + document_of(2, 10));
  add("a.pdf", "%PDF-1.5\n%\xd0\xd4\xc5\xd8\n" + std::string(300, 'x'));
  add("b.bz2", "BZh91AY&SY\xff\xfe\x80" + std::string(300, '\x81'));
  add("c.zst", "\x28\xb5\x2f\xfd" + std::string(300, '\x81'));
  const DataSplit split = open();
  for (const char* words : {"2 files;", "3 entries that are no text (a.pdf, b.bz2, c.zst)"})
    EXPECT_NE(split.note.find(words), std::string::npos) << split.note;
}

TEST_F(Texts, pass_over_hidden_links_that_lead_nowhere) {
  add("good.txt", document_of(1, 100));
  fs::create_symlink("user@host.1234:5678", place() / ".#good.txt");
  EXPECT_NE(open().note.find("1 entry that is no text (.#good.txt)"), std::string::npos) << open().note;
}

TEST_F(Texts, in_utf16_are_passed_over_with_a_remedy) {
  add("good.txt", document_of(1, 100));
  add("windows.txt", std::string("\xff\xfeh\0e\0l\0l\0o\0", 12));
  const std::string words = "windows.txt is text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8";
  EXPECT_NE(open().note.find("1 entry that is no text (windows.txt); " + words), std::string::npos) << open().note;
  fs::remove(place() / "good.txt");
  expect_refusal(refused(), ExitCode::kInputMissing, {"no files of text", words});
  expect_refusal(refused({{"data-dir", (place() / "windows.txt").string()}}), ExitCode::kInputMissing, {words});
}

TEST_F(Texts, of_which_nearly_all_is_held_out_are_refused_with_that_share) {
  add("one.txt", document_of(1, 300));
  expect_refusal(refused({{"text-test-share", "0.9999"}}), ExitCode::kConfiguration,
                 {"--context 64 is too long", "--text-test-share holds out", "a smaller --text-test-share"});
}

TEST_F(Texts, that_are_pointers_of_git_lfs_are_refused) {
  add("good.txt", document_of(1, 100));
  add("large.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  expect_refusal(refused(), ExitCode::kBadData,
                 {(place() / "large.txt").string() + " is a git-lfs pointer", "run git lfs pull"});
}

TEST_F(Texts, that_are_not_there_or_too_short_are_refused_with_a_remedy) {
  expect_refusal(refused(), ExitCode::kInputMissing, {"no files of text in " + place().string(), "--data-dir"});
  add("empty.txt", "");
  expect_refusal(refused(), ExitCode::kInputMissing, {"no files of text", "passed over: 1 empty file"});
  add("short.txt", "too short a text\n");
  expect_refusal(refused(), ExitCode::kConfiguration, {"--context 64 is too long", "15 tokens", "give at most 14"});
  expect_refusal(refused({{"context", "5"}, {"text-test-share", "0.01"}}), ExitCode::kBadData,
                 {"the text to test with has 0 tokens", "--text-test-share"});
  for (const char* share : {"0", "1", "-1"})
    expect_refusal(refused({{"text-test-share", share}}), ExitCode::kUsage, {"above 0 and below 1"});
  fs::create_symlink(place() / "nowhere", place() / "link.txt");
  expect_refusal(refused(), ExitCode::kInputMissing, {"link.txt is a link that cannot be followed"});
}

TEST_F(Texts, that_are_all_equal_are_refused) {
  for (int i = 0; i < 20; ++i) add(std::to_string(i), document_of(1, 10));
  expect_refusal(refused(), ExitCode::kBadData, {"all 20 files of the text are equal"});
}

TEST_F(Texts, have_an_identity_of_content_context_and_share) {
  for (int i = 0; i < 20; ++i) add(std::to_string(i), document_of(i, 20));
  const std::string first = identity();
  EXPECT_EQ(identity(), first);
  EXPECT_NE(identity({{"context", "65"}}), first);
  EXPECT_NE(identity({{"text-test-share", "0.5"}}), first);
  std::string changed = document_of(7, 20);
  changed[30] ^= 1;
  add("7", changed);
  EXPECT_NE(identity(), first);
}

TEST_F(Texts, are_the_same_when_staged) {
  write_text_folder(place());
  const TemporaryDirectory copies;
  const DataSplit staged = open({{"stage-to", copies.path().string()}}), direct = open();
  EXPECT_EQ(string_of(*staged.train), string_of(*direct.train));
  EXPECT_FALSE(fs::is_empty(copies.path()));
}

// Windows, and so no token twice.
TEST_F(Texts, give_a_validation_set_of_windows) {
  add("one.txt", document_of(1, 300));
  DataSplit split = open();
  const std::int64_t all = split.train->size();
  hold_out(split, 0.25);
  EXPECT_EQ(split.validation->size() + split.train->size(), all);
  std::multiset<std::vector<std::int32_t>> windows, parts;
  const DataSplit whole = open();
  for (std::int64_t i = 0; i < all; ++i) windows.insert(tokens_of(*whole.train, i));
  for (const auto* part : {&split.train, &split.validation})
    for (std::int64_t i = 0; i < (*part)->size(); ++i) parts.insert(tokens_of(**part, i));
  EXPECT_EQ(parts, windows);
}

std::size_t cut_of(const std::string& text, double share) {
  return place_of_cut(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), share);
}

TEST(PlaceOfCut, is_a_line_near_it_or_a_character) {
  EXPECT_EQ(cut_of("ab\ncd\nefgh", 0.3), 6u);
  EXPECT_EQ(cut_of("abcdefghij", 0.3), 7u);
  EXPECT_EQ(cut_of(std::string("\n") + std::string(9999, 'x'), 0.5), 5000u) << "the line begins too far before";
  EXPECT_EQ(cut_of("abc\xe2\x82\xac"
                   "defgh",
                   0.6),
            3u)
      << "a character of three bytes stays whole";
  EXPECT_EQ(cut_of("\x80\x80\x80\x80\x80\x80\x80\x80", 0.5), 1u) << "no UTF-8: at most 3 bytes before";
  EXPECT_EQ(cut_of("", 0.5), 0u);
}

}  // namespace
}  // namespace eave
