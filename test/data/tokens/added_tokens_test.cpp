// Added tokens of a tokenizer.json: which are found in texts, and which stand around them.
#include "data/tokens/added_tokens.h"

#include <utility>

#include "test/data/tokens/vocabularies.h"

namespace eave {
namespace {

// Compared with Hugging Face's tokenizers by reference_tokens_test.
TEST_F(Vocabularies, find_added_tokens_in_texts_unless_they_are_special) {
  const auto write = [&](const std::string& flags) {
    write_text(place() / "tokenizer.json",
               R"({"normalizer": null, "added_tokens": [{"id": 256, "content": "<t>")" + flags +
                   R"(}, {"id": 257, "content": "<t>b", "special": false}], "pre_tokenizer": )" + kByteLevel +
                   R"(, "model": {"type": "BPE", "vocab": )" + numbers_json({}) + R"(, "merges": []}})");
  };
  using Tokens = std::vector<std::int32_t>;
  write(R"(, "special": false)");
  EXPECT_EQ(encode("<t>a<t><t"), (Tokens{256, 'a', 256, '<', 't'}));
  EXPECT_EQ(encode("<t>b<t"), (Tokens{257, '<', 't'})) << "the longest";
  EXPECT_EQ(encode("\xff<t>"), (Tokens{0xff, 256})) << "bytes that are no UTF-8";
  EXPECT_EQ(encode("a <t> b"), (Tokens{'a', ' ', 256, ' ', 'b'}));
  EXPECT_EQ(open_vocabulary(place().string())->bytes_of(256), "<t>");
  const std::string identity = open_vocabulary(place().string())->identity();
  EXPECT_TRUE(identity.ends_with(", added tokens in texts")) << identity;
  write(R"(, "special": false, "lstrip": true, "rstrip": true)");
  EXPECT_EQ(encode("a <t> b"), (Tokens{'a', 256, 'b'}));
  write(R"(, "special": false, "single_word": true)");
  EXPECT_EQ(encode("a<t> <t>"), (Tokens{'a', '<', 't', '>', ' ', 256}));
  for (const char* flags : {R"(, "special": true)", ""}) {
    write(flags);
    EXPECT_EQ(encode("<t><t>b"), (Tokens{'<', 't', '>', 257})) << flags;
  }
}

// As tokenizers does, which gives such a token once for all white space around it.
TEST_F(Vocabularies, find_white_space_that_is_an_added_token_and_takes_more_beside_it_once) {
  const auto write = [&](const std::string& tokens) {
    write_text(place() / "tokenizer.json", R"({"added_tokens": [)" + tokens + R"(], "pre_tokenizer": )" + kByteLevel +
                                               R"(, "model": {"type": "BPE", "vocab": )" + numbers_json({}) +
                                               R"(, "merges": []}})");
  };
  using Tokens = std::vector<std::int32_t>;
  const std::string line = R"({"id": 256, "content": "\n", "special": false)";
  write(line + R"(, "lstrip": true, "rstrip": true})");
  EXPECT_EQ(encode("a\n\nb \n \n c"), (Tokens{'a', 256, 'b', 256, 'c'}));
  const std::string identity = open_vocabulary(place().string())->identity();
  EXPECT_TRUE(identity.ends_with(" white space that is a token")) << identity;
  write(line + R"(, "rstrip": true})");
  EXPECT_EQ(encode("a\n\nb \n \n c"), (Tokens{'a', 256, 256, 'b', ' ', 256, 256, 'c'}));
  EXPECT_EQ(open_vocabulary(place().string())->identity().find("white space"), std::string::npos);
  write(line + R"(, "lstrip": true}, {"id": 257, "content": "<t>", "special": false, "rstrip": true})");
  EXPECT_EQ(encode("<t> \n\nb"), (Tokens{257, 'b'})) << "tokenizers panics";
}

// tokenizers counts on from the size of the vocabulary, whatever the file says.
TEST_F(Vocabularies, with_added_tokens_that_tokenizers_would_number_anew_are_refused) {
  const auto write = [&](const std::string& tokens, const Words& more = {}) {
    write_text(place() / "tokenizer.json", R"({"added_tokens": [)" + tokens + R"(], "pre_tokenizer": )" + kByteLevel +
                                               R"(, "model": {"type": "BPE", "vocab": )" + numbers_json(more) +
                                               R"(, "merges": []}})");
  };
  const auto token = [](int number, const std::string& content) {
    return R"({"id": )" + std::to_string(number) + R"(, "content": ")" + content + "\"}";
  };
  const auto expect = [&](const std::string& content, int number, int right) {
    expect_refusal(refused(), ExitCode::kBadData,
                   {"its added token '" + content + "' has the number " + std::to_string(number),
                    "tokenizers 0.23 gives it " + std::to_string(right), "save"});
  };
  write(token(256, "<a>") + ", " + token(97, "a") + ", " + token(257, "<b>") + ", " + token(256, "<a>"));
  EXPECT_EQ(open_vocabulary(place().string())->size(), 258);
  write(token(260, "<a>") + ", " + token(261, "<b>"));
  expect("<a>", 260, 256);
  write(token(256, "<a>") + ", " + token(258, "<b>"));
  expect("<b>", 258, 257);
  write(token(257, "<b>") + ", " + token(256, "<a>"));
  expect("<b>", 257, 256);
  write(token(256, "") + ", " + token(257, "<b>"));
  expect("<b>", 257, 256);
  write(token(257, "<t>") + ", " + token(258, "<a>"), {"ab", "<t>"});
  EXPECT_EQ(open_vocabulary(place().string())->size(), 259) << "in the vocabulary, and the next behind it";
}

TEST_F(Vocabularies, of_gpt2s_kind_put_the_tokens_of_a_post_processor_around_a_text) {
  const std::string added = R"("added_tokens": [{"id": 256, "content": "<s>", "special": true}, )"
                            R"({"id": 257, "content": "</s>", "special": true}, )"
                            R"({"id": 258, "content": "<|endoftext|>", "special": true}], )";
  const auto write = [&](const std::string& processor) {
    write_text(place() / "tokenizer.json",
               "{" + added + R"("post_processor": )" + processor + R"(, "pre_tokenizer": )" + kByteLevel +
                   R"(, "model": {"type": "BPE", "vocab": )" + numbers_json({}) + R"(, "merges": []}})");
  };
  const auto ends = [&] {
    const auto vocabulary = open_vocabulary(place().string());
    return std::pair(vocabulary->opening(), vocabulary->separator());
  };
  write(kByteLevel);
  EXPECT_EQ(ends(), std::pair(kNoLabel, 258));
  const std::string identity = open_vocabulary(place().string())->identity();
  EXPECT_TRUE(identity.starts_with("byte pairs ") && identity.find(',') == std::string::npos) << identity;
  const std::string begin = R"({"SpecialToken": {"id": "<s>"}})", text = R"({"Sequence": {"id": "A"}})",
                    end = R"({"SpecialToken": {"id": "</s>"}})";
  const auto of = [](const std::string& single) {
    return R"({"type": "TemplateProcessing", "single": [)" + single + "]}";
  };
  write(of(begin + ", " + text + ", " + end));
  EXPECT_EQ(ends(), std::pair(256, 257));
  EXPECT_TRUE(open_vocabulary(place().string())->identity().ends_with(", tokens around a text"));
  write(of(begin + ", " + text));
  EXPECT_EQ(ends(), std::pair(256, 258));
  for (const char* type : {"RobertaProcessing", "BertProcessing"}) {
    write(R"({"type": ")" + std::string(type) + R"(", "cls": ["<s>", 256], "sep": ["</s>", 257]})");
    EXPECT_EQ(ends(), std::pair(256, 257)) << type;
  }
  write(of(begin + ", " + begin + ", " + text));
  expect_refusal(refused(), ExitCode::kBadData, {"puts '<s>' and '<s>' before a text"});
  write(of(R"({"SpecialToken": {"id": "<x>"}}, )" + text));
  expect_refusal(refused(), ExitCode::kBadData, {"names the token '<x>', which it lacks"});
  const auto numbered = [&](const std::string& numbers) {
    return R"({"type": "TemplateProcessing", "single": [)" + begin + ", " + text +
           R"(], "special_tokens": {"<s>": {"id": "<s>", "ids": )" + numbers + "}}}";
  };
  write(numbered("[256]"));
  EXPECT_EQ(ends(), std::pair(256, 258));
  for (const char* numbers : {"[97]", "[256, 97]"}) {
    write(numbered(numbers));
    expect_refusal(refused(), ExitCode::kBadData, {"gives the token '<s>' the number", "97", "instead of 256"});
  }
  write(R"({"type": "RobertaProcessing", "cls": ["<s>", 256], "sep": ["</s>", 97]})");
  expect_refusal(refused(), ExitCode::kBadData, {"gives the token '</s>' the number 97 instead of 257"});
}

TEST_F(Vocabularies, with_an_added_token_of_anothers_number_are_refused) {
  const std::string added = R"("added_tokens": [{"id": 97, "content": "<|endoftext|>"}])";
  write_text(place() / "tokenizer.json", R"({"model": {"type": "BPE", "vocab": )" + numbers_json({}) +
                                             R"(, "merges": []}, "pre_tokenizer": )" + kByteLevel + ", " + added + "}");
  expect_refusal(refused(), ExitCode::kBadData, {"gives the number 97 to two tokens", "<|endoftext|>"});
}

}  // namespace
}  // namespace eave
