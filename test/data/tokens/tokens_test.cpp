// The dataset tokens: files of nanoGPT and llm.c, many of them, damaged ones, and ones that are something else.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/files/mapped_file.h"
#include "data/tokens/token_file.h"
#include "test/data/tokens/text_files.h"
#include "test/data/tokens/token_files.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Given = std::map<std::string, std::string>;

class Tokens : public testing::Test {
 protected:
  const fs::path& place() const { return directory_.path(); }
  void add(const std::string& name, const Bytes& bytes) { write_bytes(place() / name, bytes); }
  DataSplit open(Given given = {}) const {
    given.emplace("data-dir", place().string());
    given.emplace("context", "16");
    return open_dataset("tokens", given);
  }
  Refusal refused(const Given& given = {}) const {
    return refusal_of([&] { open(given); });
  }

 private:
  TemporaryDirectory directory_;
};

const Given kSmall = {{"vocabulary-size", "1000"}};

TEST_F(Tokens, of_nanogpt_are_read_with_a_given_vocabulary) {
  add("train.bin", token_bytes(some_tokens(1000, 0, 65)));
  add("val.bin", token_bytes(some_tokens(200, 1000, 65)));
  const DataSplit split = open({{"vocabulary-size", "65"}});
  EXPECT_EQ(split.train->classes(), 65);
  EXPECT_EQ(text_of(*split.train), some_tokens(1000, 0, 65));
  EXPECT_EQ(text_of(*split.test), some_tokens(200, 1000, 65));
  expect_refusal(refused(), ExitCode::kUsage, {"train.bin does not say", "--vocabulary-size", "50257"});
}

TEST_F(Tokens, of_llmc_are_read_behind_their_header_which_names_the_vocabulary) {
  write_token_folder(place());
  const DataSplit split = open();
  EXPECT_EQ(split.train->classes(), 50257);
  EXPECT_EQ(text_of(*split.train), some_tokens(3000));
  EXPECT_EQ(text_of(*split.test), some_tokens(700, 3000));
  EXPECT_EQ(open({{"vocabulary-size", "50304"}}).train->classes(), 50304);
}

TEST_F(Tokens, of_32_bits_are_read_as_llmc_writes_them_for_llama_3) {
  const std::vector<std::int32_t> tokens = some_tokens(500, 0, 128256);
  add("train.bin", llmc_header(20240801, 7, 500) + token_bytes(tokens, 4));
  const DataSplit split = open();
  std::vector<std::int32_t> all = text_of(*split.train), test = text_of(*split.test);
  all.insert(all.end(), test.begin(), test.end());
  EXPECT_EQ(all, tokens);
  EXPECT_EQ(split.train->classes(), 128256);
}

TEST_F(Tokens, of_many_files_are_one_text_in_the_order_of_names) {
  for (int i = 9; i >= 0; --i)
    add("fineweb_train_00000" + std::to_string(i) + ".bin",
        llmc_header(20240520, 1, 100) + token_bytes(some_tokens(100, 100 * i)));
  add("fineweb_val_000000.bin", token_bytes(some_tokens(50)));
  const DataSplit split = open({{"vocabulary-size", "50257"}});
  EXPECT_EQ(text_of(*split.train), some_tokens(1000));
  EXPECT_EQ(split.test->size(), 4);
  EXPECT_EQ(split.note.find("passed over"), std::string::npos) << split.note;
}

TEST_F(Tokens, stand_in_bin_files_and_the_card_says_what_is_passed_over) {
  add("train_0.bin", token_bytes(some_tokens(100, 0, 1000)));
  add("train_1.BIN", token_bytes(some_tokens(100, 100, 1000)));
  add("val.Bin", token_bytes(some_tokens(50, 0, 1000)));
  for (const char* name : {"meta.pkl", "train_2.bin.part", ".hidden.bin"}) add(name, {'a'});
  fs::create_directories(place() / "more.bin");
  const DataSplit split = open(kSmall);
  EXPECT_EQ(text_of(*split.train), some_tokens(200, 0, 1000));
  EXPECT_EQ(text_of(*split.test), some_tokens(50, 0, 1000));
  const std::string passed = "4 entries that are no .bin files (.hidden.bin, meta.pkl, more.bin/, train_2.bin.part)";
  EXPECT_NE(split.note.find("; passed over: " + passed), std::string::npos) << split.note;
  for (const char* name : {"train_0.bin", "train_1.BIN"}) fs::remove(place() / name);
  expect_refusal(refused(kSmall), ExitCode::kInputMissing, {"no .bin file to train on; passed over: " + passed});
}

TEST_F(Tokens, that_are_packed_or_of_numpy_beside_bin_files_are_refused) {
  const Bytes tokens = token_bytes(some_tokens(100, 0, 1000));
  add("train_0.bin", tokens);
  const auto expect = [&](const std::string& name, const Bytes& bytes, const std::string& words) {
    add(name, bytes);
    expect_refusal(refused(kSmall), ExitCode::kBadData, {(place() / name).string() + " stands beside", words});
    fs::remove(place() / name);
  };
  expect("train_1.bin.gz", gzip(tokens), "there is no train_1.bin; it is a gzip file: unpack it with gunzip, or move");
  expect("train_1.BIN.XZ", {0xfd, '7', 'z', 'X', 'Z', 0}, "no train_1.BIN; it is an xz file: unpack it with xz -d");
  expect("train_1.npy", {0x93, 'N', 'U', 'M', 'P', 'Y'}, "it is an array of NumPy (.npy): write its tokens as numpy's");
  fs::create_symlink("loop", place() / "loop");
  for (const char* name :
       {"Train_0.bin.gz", "train_0.npy", "input.txt.gz", "offsets.npy", ".cache.bin.gz", "._train.npy"})
    add(name, gzip(tokens));
  EXPECT_EQ(open(kSmall).train->classes(), 1000) << "their tokens are in train_0.bin, or they are something else";
}

TEST_F(Tokens, without_a_test_file_are_held_out_at_the_end) {
  add("all.bin", token_bytes(some_tokens(1000, 0, 1000)));
  Given given = kSmall;
  given["text-test-share"] = "0.25";
  const DataSplit split = open(given);
  EXPECT_EQ(text_of(*split.train), some_tokens(750, 0, 1000));
  EXPECT_EQ(text_of(*split.test), some_tokens(250, 750, 1000));
  add("val.bin", token_bytes(some_tokens(200, 0, 1000)));
  expect_refusal(refused(given), ExitCode::kUsage, {"--text-test-share has no effect", "val.bin"});
}

TEST_F(Tokens, out_of_the_vocabulary_are_refused_with_file_and_offset) {
  std::vector<std::int32_t> tokens = some_tokens(1000, 0, 1000);
  tokens[700] = 1000;
  add("train.bin", token_bytes(tokens));
  expect_refusal(refused(kSmall), ExitCode::kBadData,
                 {"train.bin: token 1000 at offset 1400 is not in the vocabulary of 1000", "--vocabulary-size"});
  tokens[700] = 60000;
  add("train.bin", llmc_header(20240520, 1, 1000) + token_bytes(tokens));
  expect_refusal(refused(), ExitCode::kBadData, {"token 60000 at offset 2424"});
  tokens[700] = -2;
  add("train.bin", llmc_header(20240801, 7, 1000) + token_bytes(tokens, 4));
  expect_refusal(refused(), ExitCode::kBadData, {"token 4294967294 at offset 3824"});
}

TEST_F(Tokens, that_are_cut_or_something_else_are_refused) {
  const Bytes whole = llmc_header(20240520, 1, 1000) + token_bytes(some_tokens(1000));
  const std::vector<std::pair<Bytes, std::vector<std::string>>> cases = {
      {{}, {"train.bin is empty: it has 0 bytes"}},
      {first(whole, 1023), {"train.bin ends at offset 1023, within llm.c's header"}},
      {first(whole, 5), {"ends at offset 5"}},
      {first(whole, 3022), {"has 3022 bytes, but its header (at offset 8) says 1000 tokens, which take 3024"}},
      {whole + Bytes{1, 2}, {"has 3026 bytes"}},
      {with(whole, 4, 2), {"in version 2 (at offset 4)"}},
      {llmc_header(20240520, 1, 0), {"holds no tokens"}},
      {llmc_header(20240520, 1, 0xFFFFFFFF), {"4294967295 tokens"}},
      {llmc_header(20240326, 3, 1), {"is a checkpoint of llm.c, not tokens"}},
      {llmc_header(20240522, 1, 1), {"is an evaluation with questions and answers of llm.c"}},
      {Bytes{1, 2, 3}, {"has 3 bytes, an odd number"}},
      {Bytes{0x1f, 0x8b, 0}, {"has 3 bytes, an odd number"}}};
  for (const auto& [bytes, words] : cases) {
    add("train.bin", bytes);
    expect_refusal(refused(kSmall), ExitCode::kBadData, words);
  }
}

TEST_F(Tokens, of_32_bits_without_a_header_are_refused) {
  for (const int vocabulary : {300, 50257, 151936}) {
    add("train.bin", token_bytes(some_tokens(20000, 0, vocabulary), 4));
    expect_refusal(refused(kSmall), ExitCode::kBadData,
                   {"train.bin looks like numbers of 32 bits", "uint16", "20240801, version 7"});
  }
  add("train.bin", token_bytes(some_tokens(20000, 0, 65)));
  EXPECT_EQ(open(kSmall).train->classes(), 1000) << "small numbers of 16 bits";
  std::vector<std::int32_t> late(400000);  // zeros, and numbers of 16 bits only in the middle of the file
  std::ranges::copy(some_tokens(40000), late.begin() + 180000);
  add("train.bin", token_bytes(late));
  EXPECT_EQ(open({{"vocabulary-size", "50257"}}).train->classes(), 50257);
}

Bytes number_bytes(const std::vector<std::int32_t>& tokens, auto as) {
  Bytes bytes;
  for (const std::int32_t token : tokens) {
    const auto number = static_cast<decltype(as)>(token);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(&number);
    bytes.insert(bytes.end(), begin, begin + sizeof number);
  }
  return bytes;
}

TEST_F(Tokens, of_64_bits_or_with_a_point_are_refused) {
  for (const int vocabulary : {3, 65, 50257, 151936}) {
    const std::vector<std::int32_t> tokens = some_tokens(5000, 0, vocabulary);
    const std::pair<Bytes, std::string> cases[] = {{number_bytes(tokens, std::int64_t()), "numbers of 64 bits"},
                                                   {number_bytes(tokens, 1.0), "floating-point numbers of 64 bits"},
                                                   {number_bytes(tokens, 1.0F), "floating-point numbers of 32 bits"}};
    for (const auto& [bytes, words] : cases) {
      add("train.bin", bytes);
      expect_refusal(refused({{"vocabulary-size", "65536"}}), ExitCode::kBadData,
                     {"train.bin looks like " + words, "uint16"});
    }
  }
}

TEST_F(Tokens, of_32_or_64_bits_that_are_small_or_hardly_any_are_refused) {
  std::vector<std::int32_t> sparse(20000);
  for (std::size_t i = 0; i < sparse.size(); i += 51) sparse[i] = static_cast<std::int32_t>(i);
  for (const auto& tokens : {some_tokens(5000, 0, 4), sparse}) {
    add("train.bin", token_bytes(tokens, 4));
    expect_refusal(refused({{"vocabulary-size", "50257"}}), ExitCode::kBadData, {"looks like numbers of 32 bits"});
    add("train.bin", number_bytes(tokens, std::int64_t()));
    expect_refusal(refused({{"vocabulary-size", "50257"}}), ExitCode::kBadData, {"looks like numbers of 64 bits"});
  }
}

TEST_F(Tokens, of_32_bits_are_refused_whatever_their_vocabulary) {
  for (const int vocabulary : {262144, 262208, 300000, 1 << 24}) {
    add("train.bin", token_bytes(some_tokens(20000, 0, vocabulary), 4));
    expect_refusal(refused({{"vocabulary-size", std::to_string(vocabulary)}}), ExitCode::kBadData,
                   {"train.bin looks like numbers of 32 bits"});
  }
}

TEST_F(Tokens, of_32_or_64_bits_are_refused_if_a_few_are_no_tokens) {
  for (const int vocabulary : {65, 50257, 262208}) {
    for (const int stray : {-1, -100, 70000, 300000, 1 << 30}) {
      std::vector<std::int32_t> tokens = some_tokens(20000, 0, vocabulary);
      for (std::size_t i = 500; i < tokens.size(); i += 500) tokens[i] = stray;
      const std::pair<Bytes, std::string> cases[] = {{token_bytes(tokens, 4), "numbers of 32 bits"},
                                                     {number_bytes(tokens, std::int64_t()), "numbers of 64 bits"},
                                                     {number_bytes(tokens, 1.0F), "floating-point numbers of 32 bits"}};
      for (const auto& [bytes, words] : cases) {
        add("train.bin", bytes);
        expect_refusal(refused({{"vocabulary-size", "262208"}}), ExitCode::kBadData, {"train.bin looks like " + words});
      }
    }
  }
}

TEST_F(Tokens, of_32_or_64_bits_are_refused_if_their_file_is_cut) {
  const Bytes narrow = token_bytes(some_tokens(20000), 4), wide = number_bytes(some_tokens(20000), std::int64_t());
  for (const std::size_t cut : {2u, 4u, 6u}) {
    add("train.bin", first(wide, wide.size() - cut));
    expect_refusal(refused({{"vocabulary-size", "50257"}}), ExitCode::kBadData, {"looks like numbers of 64 bits"});
  }
  add("train.bin", first(narrow, narrow.size() - 2));
  expect_refusal(refused({{"vocabulary-size", "50257"}}), ExitCode::kBadData, {"looks like numbers of 32 bits"});
}

// A model may be trained further on its first tokens, but the file may also be cut to 16 bits.
TEST_F(Tokens, of_16_bits_are_warned_of_if_the_vocabulary_has_more) {
  add("train.bin", token_bytes(some_tokens(20000, 0, 65536)));
  EXPECT_TRUE(open({{"vocabulary-size", "65536"}}).warnings.empty());
  const DataSplit split = open({{"vocabulary-size", "128256"}});
  ASSERT_EQ(split.warnings.size(), 1u);
  for (const char* words : {"train.bin is read as tokens of 16 bits", "128256", "uint32"})
    EXPECT_NE(split.warnings[0].find(words), std::string::npos) << split.warnings[0];
  add("train.bin", llmc_header(20240520, 1, 1000) + token_bytes(some_tokens(1000)));
  EXPECT_TRUE(open({{"vocabulary-size", "128256"}}).warnings.empty()) << "the header says GPT-2";
}

TEST_F(Tokens, of_16_bits_are_read_if_large_ones_are_rare) {
  for (const int vocabulary : {2, 4, 200, 256}) {
    for (const std::size_t distance : {51u, 99u, 1001u}) {
      std::vector<std::int32_t> tokens = some_tokens(40000, 0, vocabulary);
      for (std::size_t i = distance; i < tokens.size(); i += distance) tokens[i] = 50256;
      add("train.bin", token_bytes(tokens));
      for (const char* size : {"50257", "16777216"})
        EXPECT_EQ(text_of(*open({{"vocabulary-size", size}}).train)[1], tokens[1]) << vocabulary << " " << distance;
    }
  }
}

TEST_F(Tokens, of_16_bits_are_read_if_most_or_all_are_0) {
  std::vector<std::int32_t> few(40000), small = some_tokens(40000, 0, 4);
  for (std::size_t i = 0; i < 160; i += 4) few[i] = 7;
  few[20001] = 300;
  std::vector<std::int32_t> sparse(40000);
  for (std::size_t i = 0; i < sparse.size(); i += 97) sparse[i] = static_cast<std::int32_t>(i);
  for (const auto& tokens :
       {std::vector<std::int32_t>(40000), few, sparse, small, std::vector<std::int32_t>(40000, 1)}) {
    add("train.bin", token_bytes(tokens));
    EXPECT_EQ(open({{"vocabulary-size", "50257"}}).train->classes(), 50257);
  }
}

// An even size, and no number of 16 bits in it that a vocabulary of 65536 tokens lacks.
TEST_F(Tokens, that_are_files_of_other_programs_are_refused_by_name) {
  const auto bytes = [](std::string text) {
    text.resize(2048, text.starts_with('1') ? ' ' : '\1');
    return Bytes(text.begin(), text.end());
  };
  const std::pair<Bytes, std::vector<std::string>> cases[] = {
      {bytes("\x93NUMPY\1"), {"train.bin is an array of NumPy (.npy), not tokens", "tofile"}},
      {bytes("PAR1"), {"is a Parquet file, not tokens"}},
      {bytes("LITPKDS"), {"is a packed dataset of lit-gpt, not tokens", "tofile"}},
      {bytes("PK\3\4"), {"is a ZIP archive, not tokens", "unzip"}},
      {gzip(bytes("1 2 3 4\n")), {"is a gzip file that holds text that begins with '1 2 3 4", "--data text"}},
      {gzip(token_bytes(some_tokens(1000))), {"is a gzip file, not tokens", "gunzip"}},
      {bytes("1 22 333 4\n"), {"is text that begins with '1 22 333 4'", "--data text", "uint16"}}};
  for (const auto& [content, words] : cases) {
    Bytes even = content;
    if (even.size() % 2 != 0) even.push_back(0);
    add("train.bin", even);
    expect_refusal(refused({{"vocabulary-size", "65536"}}), ExitCode::kBadData, words);
  }
}

TEST_F(Tokens, that_begin_like_another_file_by_chance_are_read) {
  const Bytes begins[] = {{0x1f, 0x8b}, {0x1f, 0x8b, 8, 0}, {0, 0, 1, 0}, {'P', '5', ' ', 1}, {0xff, 0xfe}, {'B', 'M'}};
  for (const Bytes& begin : begins) {
    Bytes bytes = token_bytes(some_tokens(1000));
    std::ranges::copy(begin, bytes.begin());
    add("train.bin", bytes);
    EXPECT_EQ(open({{"vocabulary-size", "65536"}}).train->classes(), 65536);
  }
  add("train.bin", token_bytes(std::vector<std::int32_t>(24, 0x4141)));
  EXPECT_EQ(open({{"vocabulary-size", "65536"}, {"context", "4"}}).train->classes(), 65536) << "hardly any text";
}

TEST_F(Tokens, of_fewer_or_of_two_vocabularies_than_their_headers_say_are_refused) {
  write_token_folder(place());
  expect_refusal(refused(kSmall), ExitCode::kUsage,
                 {"--vocabulary-size 1000: the header of " + (place() / "train.bin").string() + " says 50257 tokens",
                  "leave it out"});
  add("val.bin", llmc_header(20240801, 7, 700) + token_bytes(some_tokens(700, 0, 128256), 4));
  for (const Given& given : {Given(), Given{{"vocabulary-size", "200000"}}}) {
    expect_refusal(refused(given), ExitCode::kUsage,
                   {"val.bin and ", " have different vocabularies", "128256 and 50257 tokens"});
  }
}

TEST_F(Tokens, that_are_not_there_or_too_few_are_refused) {
  expect_refusal(refused(), ExitCode::kInputMissing, {"no files of tokens in " + place().string(), "train.bin"});
  add("val.bin", token_bytes({1, 2}));
  expect_refusal(refused(), ExitCode::kInputMissing, {"holds val.bin, but no .bin file to train on"});
  add("train.bin", token_bytes(some_tokens(10, 0, 1000)));
  expect_refusal(refused(kSmall), ExitCode::kConfiguration, {"--context 16 is too long", "10 tokens", "at most 9"});
  add("val.bin", token_bytes({1}));
  Given given = kSmall;
  given["context"] = "4";
  expect_refusal(refused(given), ExitCode::kBadData,
                 {"the text to test with has 1 token", "add tokens to the files with val or test in their name"});
  add("other.bin", llmc_header(20240801, 7, 4) + token_bytes({1, 2, 3, 4}, 4));
  add("train.bin", llmc_header(20240520, 1, 4) + token_bytes({1, 2, 3, 4}));
  add("val.bin", llmc_header(20240520, 1, 4) + token_bytes({1, 2, 3, 4}));
  expect_refusal(refused(), ExitCode::kUsage, {"have different vocabularies"});
}

TEST_F(Tokens, have_an_identity_of_content) {
  const auto identity = [&] { return open(kSmall).identity; };
  add("train.bin", token_bytes(some_tokens(1000, 0, 1000)));
  const std::string first = identity();
  EXPECT_EQ(identity(), first);
  std::vector<std::int32_t> tokens = some_tokens(1000, 0, 1000);
  tokens[500] ^= 1;
  add("train.bin", token_bytes(tokens));
  EXPECT_NE(identity(), first);
}

// A file larger than what is mapped, and than the memory that the test may take, as a hole.
TEST_F(Tokens, larger_than_what_is_checked_are_sampled_and_checked_again_when_read) {
  constexpr std::int64_t kTokens = std::int64_t{1} << 32;
  const fs::path path = place() / "train.bin";
  add("train.bin", {});
  fs::resize_file(path, 2 * kTokens);
  std::vector<TokenFiles::File> files;
  auto source = std::make_unique<MappedFile>(FileSource(path));
  const TokenFormat format = read_token_format(*source, 10);
  files.push_back({std::move(source), format});
  const TokenFiles stream(std::move(files), 10);
  ASSERT_EQ(stream.size(), kTokens);
  EXPECT_FALSE(stream.check(std::uint64_t{8} << 20).empty());
  std::vector<std::int32_t> tokens(1000, 7);
  stream.read(kTokens - 1000, tokens);
  EXPECT_EQ(tokens, std::vector<std::int32_t>(1000));
  fs::resize_file(path, 2 * kTokens - 100);
  expect_refusal(refusal_of([&] { stream.read(kTokens - 1000, tokens); }), ExitCode::kInputOutput,
                 {"train.bin became shorter"});
}

}  // namespace
}  // namespace eave
