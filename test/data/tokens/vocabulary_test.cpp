// Byte-level vocabularies: how words are cut, how pairs are merged, and which files are refused.
#include "data/tokens/vocabulary.h"

#include "data/tokens/byte_pairs.h"
#include "test/data/tokens/vocabularies.h"

namespace eave {
namespace {

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t size = first_word(bytes_in(text));
    words.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

TEST(FirstWord, is_cut_as_gpt2_cuts) {
  EXPECT_EQ(words_in("Hello, it's 42 o'clock"), (Words{"Hello", ",", " it", "'s", " 42", " o", "'", "clock"}));
  EXPECT_EQ(words_in("a  b\n\nc \n"), (Words{"a", " ", " b", "\n", "\n", "c", " \n"}));
  EXPECT_EQ(words_in("\n x\t\ty"), (Words{"\n", " x", "\t", "\t", "y"}));
  EXPECT_EQ(words_in("we'LL we'll''re'"), (Words{"we", "'", "LL", " we", "'ll", "''", "re", "'"}));
  EXPECT_EQ(words_in("na\xc3\xafve \xe2\x85\xa7\xd9\xa3"), (Words{"na\xc3\xafve", " \xe2\x85\xa7\xd9\xa3"}));
  EXPECT_EQ(words_in("a\xc2\xa0\xe3\x80\x80z"), (Words{"a", "\xc2\xa0", "\xe3\x80\x80", "z"}));
  EXPECT_EQ(words_in("a\xff\xfe!b\xe2\x82"), (Words{"a", "\xff\xfe!", "b", "\xe2\x82"})) << "bytes that are no UTF-8";
  EXPECT_EQ(words_in(" "), (Words{" "}));
}

TEST_F(Vocabularies, merge_the_pair_of_the_lowest_rank_first_from_the_left) {
  write_gpt2(numbers_json(kMore), kMerges);
  EXPECT_EQ(encode("abc"), (std::vector<std::int32_t>{257}));
  EXPECT_EQ(encode("bcab"), (std::vector<std::int32_t>{258, 256}));
  EXPECT_EQ(encode("aaaaa"), (std::vector<std::int32_t>{259, 259, 'a'}));
  EXPECT_EQ(encode("aab"), (std::vector<std::int32_t>{'a', 256}));
  EXPECT_EQ(encode("\xff<|endoftext|>").size(), 14u) << "no token is looked for in the text";
  const auto vocabulary = open_vocabulary(place().string());
  EXPECT_EQ(vocabulary->size(), 261);
  EXPECT_EQ(vocabulary->separator(), 260);
  EXPECT_EQ(vocabulary->bytes_of(257), "abc");
  EXPECT_EQ(vocabulary->bytes_of(' '), " ");
}

// A word of a million letters takes a moment, not an hour.
TEST_F(Vocabularies, take_words_of_any_length) {
  write_gpt2(numbers_json(kMore), kMerges);
  EXPECT_EQ(encode(std::string(1'000'000, 'a')).size(), 500'000u);
}

TEST_F(Vocabularies, are_the_same_from_tokenizer_json_whichever_way_it_writes_merges) {
  write_gpt2(numbers_json(kMore), kMerges);
  const std::string text = "abc aab \xff bcab";
  const std::vector<std::int32_t> wanted = encode(text);
  const std::string vocab = numbers_json({"ab", "abc", "bc", "aa"});
  for (const char* merges : {R"(["a b", "b c", "ab c", "a a"])", R"([["a","b"],["b","c"],["ab","c"],["a","a"]])"}) {
    write_text(place() / "tokenizer.json",
               tokenizer_json(R"({"type": "BPE", "vocab": )" + vocab + ", \"merges\": " + merges + "}", kByteLevel));
    EXPECT_EQ(encode(text), wanted);
    EXPECT_EQ(open_vocabulary((place() / "tokenizer.json").string())->separator(), 260);
  }
}

TEST_F(Vocabularies, may_have_a_dropout_of_0) {
  for (const char* dropout : {"0", "0.0", "null"}) {
    const std::string model = R"({"type": "BPE", "merges": ["a b"], "dropout": )" + std::string(dropout) +
                              ", \"vocab\": " + numbers_json({"ab", "abc", "bc", "aa"}) + "}";
    write_text(place() / "tokenizer.json", tokenizer_json(model, kByteLevel));
    EXPECT_EQ(encode("ab"), (std::vector<std::int32_t>{256})) << dropout;
  }
}

TEST_F(Vocabularies, of_other_kinds_are_refused_by_name) {
  const std::string bpe = R"({"type": "BPE", "vocab": )" + numbers_json({}) + ", \"merges\": []";
  const auto of = [&](const std::string& rest) { return R"({"model": )" + bpe + "}, " + rest + "}"; };
  const auto split = [&](const std::string& pattern, const std::string& how) {
    return of(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": ")" +
              pattern + "\"}, " + how + "}, " + kByteLevel + "]}");
  };
  const std::string isolated = R"("behavior": "Isolated", "invert": false)", pattern = "its pattern '";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {tokenizer_json(R"({"type": "WordPiece", "vocab": {}})", kByteLevel), "its model is WordPiece"},
      {tokenizer_json(R"({"type": "Unigram", "vocab": []})", kByteLevel), "its model is Unigram"},
      {tokenizer_json(bpe + "}", R"({"type": "Whitespace"})"), "its pre_tokenizer is Whitespace"},
      {tokenizer_json(bpe + "}", "null"), "its pre_tokenizer is none"},
      {tokenizer_json(bpe + "}", R"({"type": "ByteLevel", "add_prefix_space": true})"), "add_prefix_space"},
      {tokenizer_json(bpe + R"(, "dropout": 0.1})", kByteLevel), "its model has dropout"},
      {of(R"("normalizer": {"type": "NFKC"}, "pre_tokenizer": )" + std::string(kByteLevel)), "its normalizer is NFKC"},
      {of(R"("normalizer": {"type": "Lowercase"})"), "its normalizer has Lowercase"},
      {of(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_"})"), "its Metaspace replaces spaces"},
      {of(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "odd"})"), "prepend_scheme"},
      {of(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁"})"), "has neither byte_fallback nor unk_token"},
      {of(R"("normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"})"), "NFC"},
      {of(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, )" +
          std::string(kByteLevel) + "]}"),
       "has Punctuation before ByteLevel"},
      {of(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + std::string(kByteLevel) +
          R"(, {"type": "Digits"}]})"),
       "its pre_tokenizer is Sequence"},
      {split("a", R"("behavior": "Removed", "invert": false)"), "its Split has a behavior or invert"},
      {split("a", R"("behavior": "Isolated", "invert": true)"), "its Split has a behavior or invert"},
      {split("a", R"("behavior": "Contiguous", "invert": false)"), "its Split has a behavior or invert"},
      {split("a", R"("behavior": "odd")"), "its Split has a behavior or invert"},
      {split("", isolated), "no pattern of usual length"},
      {split("a.b", isolated), pattern},
      {split("^a", isolated), pattern},
      {split("\\\\w+|\\\\W", isolated), "has from byte 0 on '\\w+|\\W'"},
      {split("a|\\\\b", isolated), "has from byte 2 on '\\b'"},
      {split("(?<=a)b", isolated), pattern},
      {split("(?i:ss)", isolated), pattern},
      {split("[a&&b]", isolated), pattern},
      {split("[[:alpha:]]", isolated), pattern},
      {split("a\\\\p{Alnum}", isolated), "has from byte 1 on '\\p{Alnum'"},
      {split("a{1,200}", isolated), pattern},
      {split("a{2}+", isolated), pattern},
      {split("(a", isolated), "ICU does not take its pattern"}};
  for (const auto& [json, words] : cases) {
    write_text(place() / "tokenizer.json", json);
    expect_refusal(refused(), ExitCode::kBadData, {"tokenizer.json: ", words, "eave reads byte-level BPE"});
  }
}

TEST_F(Vocabularies, that_are_damaged_or_of_two_models_are_refused_with_their_place) {
  expect_refusal(refused(), ExitCode::kInputMissing, {"holds no vocabulary", "encoder.json and vocab.bpe"});
  expect_refusal(refused("nowhere"), ExitCode::kInputMissing, {"nowhere: no such file"});
  const std::string good = numbers_json(kMore);
  const auto expect = [&](const std::string& numbers, const std::string& merges, const std::string& words) {
    write_gpt2(numbers, merges);
    expect_refusal(refused(), ExitCode::kBadData, {words});
  };
  expect(numbers_json({"ab"}), kMerges,
         "vocab.bpe, merge 2: the token 'bc' is not in " + (place() / "encoder.json").string());
  expect(good, "#version: 0.2\na b\nab\n", "vocab.bpe, line 3: expected two parts");
  expect(good, "#version: 0.2\na b c\n", "vocab.bpe, line 2: expected two parts");
  expect(good, "#version: 0.2\n", "vocab.bpe holds no merges");
  expect(good.substr(0, 1000), kMerges, "encoder.json is no JSON, from byte");
  expect("[1, 2]", kMerges, "encoder.json holds no vocabulary");
  expect(R"({"a": 1, "b": 1})", kMerges, "gives the number 1 to two tokens");
  expect(R"({"a": 1, "a": 2})", kMerges, "has the name 'a' twice");
  expect(numbers_json({"ab", "abc", "bc", "aa", "a</w>"}), kMerges, "mark the ends of words by </w>");
  expect(R"({"a": -1})", kMerges, "the number of the token 'a' is not a whole number from 0");
  expect(R"({"a": 16777216})", kMerges, "the number of the token 'a' is not");
  expect(R"({"a": 0, "b": 1, "ab": 2})", "a b\n", "encoder.json has no token for byte");
  expect(std::string(100000, '['), kMerges, "encoder.json nests too deep");
}

TEST_F(Vocabularies, of_which_half_the_merges_are_missing_are_refused) {
  Words words = {"<|endoftext|>", "[MASK]", "madeupword0000"};
  std::string merges = "#version: 0.2\n";
  for (std::size_t size = 2; size <= 101; ++size) {
    words.emplace_back(size, 'a');
    merges.append(size - 1, 'a').append(" a\n");
  }
  write_gpt2(numbers_json(words), merges);
  EXPECT_EQ(open_vocabulary(place().string())->size(), 256 + 103);
  write_gpt2(numbers_json(words), merges.substr(0, merges.find(std::string(51, 'a'))));
  expect_refusal(refused(), ExitCode::kBadData,
                 {"vocab.bpe lacks merges for 51 tokens of " + (place() / "encoder.json").string(), "may be cut"});
}

TEST_F(Vocabularies, of_two_files_that_another_tokenizer_reads_are_refused) {
  write_text(place() / "vocab.json", numbers_json(kMore));
  write_text(place() / "merges.txt", kMerges);
  const auto expect = [&](const std::string& tokenizer, const std::string& model, const std::string& words) {
    write_text(place() / "tokenizer_config.json", tokenizer);
    write_text(place() / "config.json", model);
    SCOPED_TRACE(tokenizer + " " + model);
    if (words.empty()) {
      EXPECT_EQ(encode("abc"), (std::vector<std::int32_t>{257}));
    } else {
      expect_refusal(refused(), ExitCode::kBadData, {place().string(), words, "save_pretrained"});
    }
  };
  const std::string gpt2 = R"({"tokenizer_class": "GPT2Tokenizer"})";
  for (const char* model : {"gpt2", "gpt_neo", "gptj", "llama"})
    expect("{}", R"({"model_type": ")" + std::string(model) + "\"}", "");
  expect(gpt2, R"({"model_type": "opt"})", "");
  expect(R"({"tokenizer_class": "GPT2TokenizerFast", "add_bos_token": false, "add_prefix_space": null})", "{}", "");
  expect(R"({"tokenizer_class": "Qwen2Tokenizer"})", "{}", "tokenizer_config.json names Qwen2Tokenizer");
  expect(R"({"tokenizer_class": "RobertaTokenizer"})", R"({"model_type": "gpt2"})", "names RobertaTokenizer");
  expect("{}", R"({"model_type": "qwen2"})", "config.json names qwen2");
  expect("{}", R"({"model_type": "opt"})", "config.json names opt");
  expect("{}", R"({"model_type": "gpt2", "tokenizer_class": "CodeGenTokenizer"})", "names CodeGenTokenizer");
  expect(R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true})", "{}", "has add_bos_token");
  expect(R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true})", "{}", "has add_prefix_space");
  write_text(place() / "added_tokens.json", R"({"[PAD]": 261, "<|x|>": 262})");
  expect(gpt2, "{}", "");
  write_text(place() / "added_tokens.json", R"({"[PAD]": 261, "  ": 262})");
  expect(gpt2, "{}", "added_tokens.json has '  '");
  write_text(place() / "added_tokens.json", "{}");
  const auto added = [&](const std::string& token, const std::string& flag) {
    return R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {"260": {"content": "<|endoftext|>",
      "special": true}, "261": {"content": ")" +
           token + '"' + flag + "}}}";
  };
  expect(added("[PAD]", R"(, "special": true)"), "{}", "");
  expect(added("", R"(, "special": false)"), "{}", "");
  expect(added("  ", R"(, "special": false)"), "{}", "tokenizer_config.json has '  '");
  expect(added("<tool_call>", ""), "{}", "tokenizer_config.json has '<tool_call>'");
  write_gpt2(numbers_json(kMore), kMerges);
  EXPECT_EQ(encode("abc"), (std::vector<std::int32_t>{257})) << "only GPT-2 has encoder.json";
}

TEST_F(Vocabularies, that_are_files_of_other_kinds_are_refused_by_name) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  const auto expect = [&](const std::string& name, const std::string& content, const Words& words) {
    write_text(place() / name, content);
    expect_refusal(refused(name), ExitCode::kBadData, words);
  };
  const std::string piece = std::string("\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\2", 16);
  expect("tokenizer.model", piece + piece, {"a model of SentencePiece", "save_pretrained", "writes a tokenizer.json"});
  expect("cl100k.tiktoken", "IQ== 0\nIg== 1\n", {"tiktoken", "save_pretrained", "writes a tokenizer.json"});
  expect("tokenizer.json", pointer, {"tokenizer.json", "it is a git-lfs pointer", "run git lfs pull"});
  const Bytes packed = gzip({'{', '"', 'a', '"', ':', '1', '}'});
  expect("tokenizer.json", std::string(packed.begin(), packed.end()), {"it is a gzip file", "gunzip"});
  expect("tokenizer.json", "<!DOCTYPE html><html>", {"it is an HTML page", "get the file again"});
  expect("tekken.json", R"({"config": {}, "vocab": []})", {"it has no model", "writes a tokenizer.json"});
  std::filesystem::remove(place() / "tokenizer.json");
  write_gpt2(numbers_json(kMore), pointer);
  expect_refusal(refused(), ExitCode::kBadData, {"vocab.bpe", "it is a git-lfs pointer", "run git lfs pull"});
}

TEST_F(Vocabularies, of_two_files_are_named_by_their_folder) {
  write_gpt2(numbers_json(kMore), kMerges);
  write_text(place() / "vocab.json", "a b\n");
  expect_refusal(refused("vocab.json"), ExitCode::kBadData, {"vocab.json"});  // alone, as a tokenizer of another name
  write_text(place() / "merges.txt", "a b\n");
  for (const char* name : {"encoder.json", "vocab.bpe", "vocab.json", "merges.txt"}) {
    expect_refusal(refused(name), ExitCode::kUsage, {name, "is one of two files", "name the folder that has both"});
  }
}

TEST_F(Vocabularies, may_have_merges_behind_a_byte_order_mark) {
  for (const char* merges : {kMerges, "a b\nb c\nab c\na a\n"}) {
    write_gpt2("\xef\xbb\xbf" + numbers_json(kMore), std::string("\xef\xbb\xbf") + merges);
    EXPECT_EQ(encode("abc aab"), (std::vector<std::int32_t>{257, ' ', 'a', 256}));
  }
}

TEST_F(Vocabularies, may_end_lines_as_windows_does) {
  write_gpt2(numbers_json(kMore), kMerges);
  const std::vector<std::int32_t> wanted = encode("abc aab");
  std::string merges;
  for (const char letter : std::string(kMerges))
    merges += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  write_gpt2(numbers_json(kMore), merges);
  EXPECT_EQ(encode("abc aab"), wanted);
}

// Vocabularies that cut by regular expressions. Their tokens are compared with those of Hugging Face's tokenizers by
// reference_tokens_test.
class CutVocabularies : public Vocabularies {
 protected:
  void write(const std::string& cut, const std::string& more = "", const std::string& model = "") const {
    write_text(
        place() / "tokenizer.json",
        R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + cut +
            R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}, "model": {"type": "BPE", "vocab": )" +
            numbers_json({"ab", "abc", "bc", "aa", "cab"}) + R"(, "merges": ["a b", "b c", "ab c", "a a"])" + model +
            "}" + more + "}");
  }
  static std::string split(const std::string& pattern, const std::string& behavior, bool invert = false) {
    return R"({"type": "Split", "pattern": {"Regex": ")" + pattern + R"("}, "behavior": ")" + behavior +
           R"(", "invert": )" + (invert ? "true" : "false") + "}, ";
  }
  std::string back(std::string_view text) const {
    const auto vocabulary = open_vocabulary(place().string());
    std::string bytes;
    for (const std::int32_t token : encode(text)) bytes += vocabulary->bytes_of(token);
    return bytes;
  }
};

TEST_F(CutVocabularies, merge_within_the_pieces_of_their_patterns) {
  write("");
  EXPECT_EQ(encode("abcaa"), (std::vector<std::int32_t>{257, 259}));
  write(split("b", "Isolated"));
  EXPECT_EQ(encode("abcaa"), (std::vector<std::int32_t>{'a', 'b', 'c', 259}));
  write(split("b", "MergedWithPrevious"));
  EXPECT_EQ(encode("abcaa"), (std::vector<std::int32_t>{256, 'c', 259}));
  write(split("b", "MergedWithNext") + split("ca", "Isolated"));
  EXPECT_EQ(encode("abcaa"), (std::vector<std::int32_t>{'a', 'b', 'c', 'a', 'a'}));
  write("", "", R"(, "ignore_merges": true)");
  EXPECT_EQ(encode("cab"), (std::vector<std::int32_t>{260})) << "a word that is a token, though no merge makes it";
}

TEST_F(CutVocabularies, that_would_drop_text_refuse_it) {
  write(split("\\\\p{L}+|\\\\s", "Removed", true));
  EXPECT_EQ(encode("abc abc"), (std::vector<std::int32_t>{257, ' ', 257}));
  expect_refusal(refusal_of([&] { encode("abc, abc"); }), ExitCode::kBadData, {"does not match all of the text"});
}

TEST_F(CutVocabularies, keep_bytes_that_are_no_utf8_and_normalise_what_is_between) {
  const std::string text = "a\xff\xfe\xe2\x82 b\xf0\x9f\x98\x80\xc0\x80z e\xcc\x81";
  write(split("\\\\p{L}+", "Isolated"));
  EXPECT_EQ(back(text), text);
  write(split("\\\\p{L}+", "Isolated"), R"(, "normalizer": {"type": "NFC"})");
  EXPECT_EQ(back(text), text.substr(0, text.size() - 3) + "\xc3\xa9");
  EXPECT_EQ(back("e\xff\xcc\x81"), "e\xff\xcc\x81");
}

TEST_F(CutVocabularies, take_words_of_any_length_and_give_up_on_patterns_without_end) {
  write(split("\\\\p{L}+|\\\\s+(?!\\\\S)", "Isolated"));
  EXPECT_EQ(encode(std::string(3'000'000, 'a')).size(), 1'500'000u);
  EXPECT_EQ(encode(std::string(3'000'000, ' ') + "a").size(), 3'000'001u);
  write(split("(?:a+)+b", "Isolated"));
  expect_refusal(refusal_of([&] { encode(std::string(60, 'a')); }), ExitCode::kBadData,
                 {"searching the text", "failed"});
}

TEST_F(CutVocabularies, have_other_identities_and_ends_than_gpt2s) {
  const std::string added = R"(, "added_tokens": [{"id": 261, "content": "<s>", "special": true}, )"
                            R"({"id": 262, "content": "</s>", "special": true}])";
  const auto open = [&] { return open_vocabulary(place().string()); };
  write("");
  const std::string without = open()->identity();
  EXPECT_TRUE(without.starts_with("tokenizer.json ")) << without;
  EXPECT_NE(open()->describe().find("without a token between files"), std::string::npos);
  write("", added);
  EXPECT_NE(open()->identity(), without);
  EXPECT_EQ(open()->separator(), 262);
  EXPECT_EQ(open()->opening(), kNoLabel);
  EXPECT_NE(open()->describe().find("with </s> behind each file"), std::string::npos);
  write(
      "",
      added +
          R"(, "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, )"
          R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}]})");
  EXPECT_EQ(open()->opening(), 261);
  EXPECT_EQ(open()->separator(), 262);
  EXPECT_EQ(open()->size(), 263);
  EXPECT_NE(open()->describe().find("with <s> before and </s> behind each file"), std::string::npos);
}

// A vocabulary of characters: the mark of spaces, bytes, a few letters, and merges.
class CharacterVocabularies : public Vocabularies {
 protected:
  void write(const std::string& how, bool has_bytes, const std::string& merges = R"("▁ a", "a b")") const {
    std::string vocab = R"("<unk>": 0, "▁": 1, "a": 2, "b": 3, "é": 4, "▁a": 5, "ab": 6)";
    for (int byte = 0; has_bytes && byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      vocab += ", \"" + std::string(name) + "\": " + std::to_string(10 + byte);
    }
    write_text(place() / "tokenizer.json",
               "{" + how + R"(, "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": )" +
                   (has_bytes ? "true" : "false") + R"(, "vocab": {)" + vocab + "}, \"merges\": [" + merges + "]}}");
  }
  std::string back(std::string_view text) const {
    const auto vocabulary = open_vocabulary(place().string());
    std::string bytes;
    for (const std::int32_t token : encode(text)) bytes += vocabulary->bytes_of(token);
    return bytes;
  }
  using Tokens = std::vector<std::int32_t>;
};

constexpr const char* kLlama2 =
    R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, )"
    R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "pre_tokenizer": null)";

TEST_F(CharacterVocabularies, begin_with_a_space_and_fall_back_to_bytes) {
  write(kLlama2, true);
  EXPECT_EQ(encode("ab a"), (Tokens{5, 3, 5}));
  EXPECT_EQ(encode(" ab"), (Tokens{1, 5, 3}));
  EXPECT_EQ(encode("é\nz"), (Tokens{1, 4, 10 + '\n', 10 + 'z'}));
  EXPECT_EQ(encode("\xff\xe2\x82"), (Tokens{1, 10 + 0xff, 10 + 0xe2, 10 + 0x82})) << "bytes that are no UTF-8";
  EXPECT_EQ(encode(""), Tokens());
  EXPECT_EQ(back("ab\xff \xf0\x9f\x98\x80  é\n"), " ab\xff \xf0\x9f\x98\x80  é\n");
  EXPECT_TRUE(open_vocabulary(place().string())->begins_with_space());
}

TEST_F(CharacterVocabularies, put_the_space_where_their_file_says) {
  const auto metaspace = [](const std::string& scheme) {
    return R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "split": false, "prepend_scheme": ")" +
           scheme + "\"}";
  };
  for (const char* scheme : {"always", "first"}) {
    write(metaspace(scheme), true);
    EXPECT_EQ(encode("ab"), (Tokens{5, 3}));
    EXPECT_EQ(encode(" ab"), (Tokens{5, 3}));
  }
  write(metaspace("never"), true);
  EXPECT_EQ(encode("ab"), (Tokens{6}));
  EXPECT_FALSE(open_vocabulary(place().string())->begins_with_space());
}

TEST_F(CharacterVocabularies, have_one_token_for_unknown_characters_in_a_row) {
  write(kLlama2, false);
  EXPECT_EQ(encode("xyz a\xff\xfez"), (Tokens{1, 0, 5, 0}));
}

TEST_F(CharacterVocabularies, take_long_texts_without_a_place_to_cut) {
  write(kLlama2, true, R"("▁ a", "a b", "ab ab", "abab a")");
  expect_refusal(refused(), ExitCode::kBadData, {"merge 3", "'abab' is not in its vocabulary"});
  write(kLlama2, true);
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "ab";
  EXPECT_EQ(encode(text).size(), 1'000'001u);
}

TEST_F(CharacterVocabularies, without_the_mark_or_with_merged_bytes_are_refused) {
  write(kLlama2, true, R"("<0x41> a")");
  expect_refusal(refused(), ExitCode::kBadData, {"'<0x41>a' is not in its vocabulary"});
  const std::string bytes = R"({"model": {"type": "BPE", "byte_fallback": true, "vocab": {"▁": 0}, "merges": []}, )";
  write_text(place() / "tokenizer.json", bytes + kLlama2 + "}");
  expect_refusal(refused(), ExitCode::kBadData, {"it has no token '<0x00>'"});
  write_text(place() / "tokenizer.json",
             R"({"model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1, "<unk>a": 2, "▁": 3},
      "merges": ["<unk> a"]}, )" +
                 std::string(kLlama2) + "}");
  expect_refusal(refused(), ExitCode::kBadData, {"it merges '<unk>' and 'a'"});
}

}  // namespace
}  // namespace eave
