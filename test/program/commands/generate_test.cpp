// eave generate writes text with the models of runs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/formats/safetensors.h"
#include "data/tokens/vocabulary_files.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

const char* const kModel =
    "'embedding 16 positions 12; residual(layer_norm; linear 48; attention 2; linear 16); tied_output'";

// GPT-2's files with two merges, which make a token of three letters, and a token between documents.
void write_vocabulary(const Place& place, const std::string& folder, const std::string& letters = "abc") {
  nlohmann::json numbers;
  for (int byte = 0; byte < 256; ++byte) numbers[letter_of_byte(static_cast<std::uint8_t>(byte))] = byte;
  const std::string two = letters.substr(0, 2);
  numbers[two] = 256;
  numbers[letters] = 257;
  numbers["<|endoftext|>"] = 258;
  std::filesystem::create_directory(place.path() / folder);
  place.write(folder + "/encoder.json", numbers.dump());
  place.write(folder + "/vocab.bpe", "#version: 0.2\n" + letters.substr(0, 1) + " " + two.substr(1) + "\n" + two + " " +
                                         letters.substr(2) + "\n");
}

std::string train_words(const std::string& more) {
  return "train --data text --data-dir texts --context 12 --text-test-share 0.3 --batch 8 --optimizer adamw --lr 0.02 "
         "--progress off --model " +
         std::string(kModel) + " " + more;
}

// A text that the model soon knows by heart. Its windows of 12 tokens begin at each of the 7 places of a line.
void write_texts(const Place& place) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcdef\n";
  place.write("texts/a.txt", text);
}

TEST(Generate, goes_on_with_the_text_that_a_model_knows_by_heart) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train_words("--epochs 25 --run-dir run")));
  const std::string line = "abcdef\n";
  const auto generate = [&](const std::string& words) { return place.eave("generate run " + words); };
  // Also beyond the context, where the window moves on.
  const Ended greedy = generate("--temperature 0 --prompt abc --tokens 53");
  expect_end(0, greedy);
  EXPECT_EQ(greedy.output, line + line + line + line + line + line + line + line + "\n");
  EXPECT_TRUE(greedy.says("53 tokens in ")) << greedy.errors;
  // A prompt longer than the context.
  EXPECT_EQ(generate("--temperature 0 --prompt 'abcdef\nabcdef\nabcdef\nab' --tokens 5").output,
            line + line + line + line + "\n");
  EXPECT_EQ(generate("--prompt abc --tokens 0").output, "abc\n");
  EXPECT_EQ(generate("--temperature 0 --tokens 3").output, "abc\n");  // from a line end, which is not printed
  EXPECT_EQ(generate("--prompt '' --temperature 0 --tokens 3").output, "abc\n");
  EXPECT_EQ(generate("--temperature 0 --prompt= --tokens 3").output, "abc\n");
  EXPECT_EQ(generate("--temperature 0 --prompt-tokens 97,98 --tokens 5").output, "97,98,99,100,101,102,10\n");
  EXPECT_EQ(place.eave("generate run/model.safetensors --temperature 0 --prompt ab --tokens 4").output, "abcdef\n");
  EXPECT_EQ(generate("--step last --temperature 0 --prompt ab --tokens 4").output, "abcdef\n");
  expect_end(64, place.eave("generate run --step foo"),
             {"--step foo (command line): expected last, or a whole number from 1"});
  expect_end(65, place.eave("generate run/config.json"), {"describes the model beside it; name its folder, run"});
}

TEST(Generate, gives_the_same_text_for_the_same_seed_and_another_for_each_sample) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train_words("--max-steps 1 --run-dir run")));
  const auto text = [&](const std::string& words) {
    const Ended ended = place.eave("generate run --prompt x --tokens 20 " + words);
    expect_end(0, ended);
    return ended.output;
  };
  const std::string one = text("--seed 5"), two = text("--seed 5 --samples 2");
  EXPECT_EQ(text("--seed 5"), one);
  EXPECT_NE(text("--seed 6"), one);
  ASSERT_TRUE(two.starts_with(one + "---\nx")) << two;
  EXPECT_NE(two.substr(one.size() + 4), one);
  EXPECT_EQ(text("--seed 5 --top-k 1"), text("--temperature 0"));
  EXPECT_EQ(text("--seed 5 --top-p 0.0001"), text("--temperature 0"));
  EXPECT_NE(text("--seed 5 --temperature 3"), one);
  for (const std::string given : {"--top-k 2", "--top-p 0.5", "--samples 2"})
    expect_end(64, place.eave("generate run --temperature 0 " + given), {given, "has no effect with --temperature 0"});
  expect_end(0, place.eave("generate run --temperature 0 --tokens 1 --samples 1"));
}

// All these tokens would take hours, and a run ends after 20 s.
TEST(Generate, ends_when_nobody_reads_its_text_or_the_disk_is_full) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train_words("--max-steps 1 --run-dir run")));
  for (const std::string words : {"--prompt abc", "--prompt-tokens 97,98"}) {
    const std::string generate = program() + " generate run --tokens 1000000000 " + words;
    const Ended left = place.run("sh -c '{ \"$@\"; echo code $? >code; } | head -c 5; cat code >&2' sh " + generate);
    EXPECT_EQ(left.errors, "code 0\n");
    EXPECT_EQ(left.output.size(), 5u);
    expect_end(74, place.run("sh -c 'exec \"$@\" >/dev/full' sh " + generate),
               {"eave: cannot write to standard output"});
  }
}

TEST(Generate, finds_the_vocabulary_of_the_run_or_says_which_option_names_it) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  expect_end(0, place.eave(train_words("--epochs 30 --vocabulary pairs --run-dir run")));
  const std::string generate = "generate run --temperature 0 --prompt abc --tokens 6 ";
  EXPECT_EQ(place.eave(generate).output, "abcdef\nabcd\n");
  std::filesystem::rename(place.path() / "pairs", place.path() / "moved");
  expect_end(66, place.eave(generate),
             {"config.json names the vocabulary pairs, which is not there", "--vocabulary PATH"});
  EXPECT_EQ(place.eave(generate + "--vocabulary moved").output, "abcdef\nabcd\n");
  expect_end(78, place.eave(generate + "--vocabulary bytes"), {"has 256 tokens", "knows 259"});
}

TEST(Generate, refuses_another_vocabulary_of_the_same_size) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  expect_end(0, place.eave(train_words("--max-steps 1 --vocabulary pairs --run-dir run")));
  write_vocabulary(place, "other", "def");
  for (const char* words : {"--vocabulary other", "--step last --vocabulary other"}) {
    expect_end(78, place.eave("generate run --prompt abc " + std::string(words)),
               {"other/encoder.json", "but the model of run/", "of --vocabulary pairs"});
  }
  std::filesystem::rename(place.path() / "pairs", place.path() / "moved");
  std::filesystem::rename(place.path() / "other", place.path() / "pairs");
  expect_end(78, place.eave("generate run --prompt abc"), {"was trained with", "--vocabulary PATH"});
  expect_end(0, place.eave("generate run --prompt abc --vocabulary moved"));
}

TEST(InitialParameters, of_another_vocabulary_of_the_same_size_are_warned_about) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  write_vocabulary(place, "other", "def");
  expect_end(0, place.eave(train_words("--max-steps 1 --vocabulary pairs --run-dir run")));
  const std::string tuned = "--max-steps 1 --initial-parameters run --run-dir tuned --overwrite --vocabulary ";
  EXPECT_TRUE(expect_end(0, place.eave(train_words(tuned + "other"))).says("trained with another vocabulary"));
  EXPECT_FALSE(expect_end(0, place.eave(train_words(tuned + "pairs"))).says("another vocabulary"));
}

// Tokens that the vocabulary lacks are never written.
TEST(Generate, knows_the_vocabulary_of_a_run_whose_model_knows_more_tokens) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  expect_end(0, place.eave(train_words("--epochs 30 --vocabulary pairs --vocabulary-size 400 --run-dir run")));
  EXPECT_EQ(place.eave("generate run --temperature 0 --prompt abc --tokens 6").output, "abcdef\nabcd\n");
  expect_end(0, place.eave("generate run --temperature 1000 --prompt a --tokens 500"));
  expect_end(78, place.eave(train_words("--vocabulary pairs --initial-parameters run --run-dir other")),
             {"in the model", "--vocabulary-size"});
  expect_end(0,
             place.eave(train_words("--vocabulary pairs --vocabulary-size 400 --initial-parameters run --max-steps 1 "
                                    "--run-dir other")));
}

// A run on --data tokens does not know its vocabulary, and neither does a file alone.
TEST(Generate, looks_for_a_vocabulary_beside_the_weights_of_a_run_of_a_step_and_of_a_folder_alike) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  expect_end(0, place.eave(train_words("--epochs 30 --vocabulary pairs --run-dir run")));
  const std::string of_run = place.read("run/config.json"), prompt = " --temperature 0 --prompt abc --tokens 6 ";
  std::filesystem::create_directory(place.path() / "alone");
  std::filesystem::copy(place.path() / "run/model.safetensors", place.path() / "alone/model.safetensors");
  expect_end(64, place.eave("generate alone" + prompt), {"does not say which vocabulary", "--vocabulary PATH"});
  EXPECT_EQ(place.eave("generate alone" + prompt + "--vocabulary pairs").output, "abcdef\nabcd\n");
  nlohmann::json config = nlohmann::json::parse(of_run);
  config["data"] = "tokens";
  place.write("run/config.json", config.dump());
  for (const char* folder : {"alone", "run"}) {
    for (const char* name : {"encoder.json", "vocab.bpe"})
      std::filesystem::copy(place.path() / "pairs" / name, place.path() / folder / name);
  }
  for (const char* model : {"alone", "alone/model.safetensors", "run", "run --step last"})
    EXPECT_EQ(place.eave("generate " + std::string(model) + prompt).output, "abcdef\nabcd\n") << model;
}

// As Llama 2's: of characters, with a space and <s> before each document.
void write_llama_vocabulary(const Place& place) {
  nlohmann::json numbers = {{"<s>", 0}, {"</s>", 1}, {"▁", 2}, {"▁a", 3}, {"bc", 4}};
  for (const char letter : std::string("abcdef")) numbers[std::string(1, letter)] = numbers.size();
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    numbers[name] = numbers.size();
  }
  const nlohmann::json special = {{"SpecialToken", {{"id", "<s>"}}}}, text = {{"Sequence", {{"id", "A"}}}};
  const nlohmann::json tokenizer = {
      {"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}, {"split", false}}},
      {"post_processor", {{"type", "TemplateProcessing"}, {"single", {special, text}}}},
      {"added_tokens", {{{"id", 1}, {"content", "</s>"}, {"special", true}}}},
      {"model", {{"type", "BPE"}, {"byte_fallback", true}, {"vocab", numbers}, {"merges", {"▁ a", "b c"}}}}};
  place.write("llama.json", tokenizer.dump());
}

TEST(Generate, prints_neither_the_space_nor_the_token_that_llamas_vocabulary_puts_before_a_text) {
  const Place place;
  for (int file = 0; file < 40; ++file) {
    std::string text;
    for (int line = 0; line < 3 + file; ++line) text += "abcdef\n";
    place.write("texts/" + std::to_string(file), text);
  }
  write_llama_vocabulary(place);
  const Ended trained = place.eave(train_words("--epochs 15 --vocabulary llama.json --run-dir run"));
  expect_end(0, trained);
  EXPECT_NE(trained.output.find("with <s> before and </s> behind each file"), std::string::npos) << trained.output;
  const std::string generate = "generate run --temperature 0 --tokens 11 ";
  EXPECT_EQ(place.eave(generate).output, "abcdef\nabcdef\n");
  EXPECT_EQ(place.eave(generate + "--prompt abc").output, "abcdef\nabcdef\na\n");
}

// Rotary positions have no table, so only config.json tells for how long texts a model was made.
TEST(Export, keeps_the_longest_text_of_the_weights_from_which_a_run_began) {
  const Place place;
  write_texts(place);
  const auto train = [](const std::string& more) {
    return "train --data text --data-dir texts --text-test-share 0.3 --batch 8 --progress off " + more;
  };
  const auto positions_of = [&](const std::string& what, const std::string& folder) {
    expect_end(0, place.eave(what + " --layout huggingface --safetensors " + folder + "/model.safetensors"));
    return nlohmann::json::parse(place.read(folder + "/config.json"))["max_position_embeddings"].get<int>();
  };
  expect_end(0, place.eave(train("--context 12 --max-steps 1 --run-dir run --model 'embedding 16; residual(rms_norm; "
                                 "linear 48 no_bias; rotary 2; attention 2; linear 16 no_bias); residual(rms_norm; "
                                 "linear 64 no_bias; gated silu; linear 16 no_bias); rms_norm; tied_output'")));
  EXPECT_EQ(positions_of("export run", "first"), 12);
  expect_end(0, place.eave(train("--context 8 --model first --initial-parameters run --run-dir own --max-steps 1")));
  EXPECT_EQ(positions_of("export own", "of-own"), 12);
  const std::string weights = place.path() / "first/model.safetensors";
  const SafetensorsFile file = read_safetensors(weights);
  write_safetensors(OutputPath(weights), file.arrays, {{"format", "pt"}});
  nlohmann::json config = nlohmann::json::parse(place.read("first/config.json"));
  config["max_position_embeddings"] = 4096;
  place.write("first/config.json", config.dump());

  const std::string tuned = train("--context 12 --model first --initial-parameters first --run-dir tuned --max-steps ");
  expect_end(0, place.eave(tuned + "2"));
  EXPECT_EQ(positions_of("export tuned", "second"), 4096);
  expect_end(0, place.eave(tuned + "3 --resume"));
  EXPECT_EQ(positions_of("export tuned", "third"), 4096);
  EXPECT_EQ(positions_of("checkpoint export tuned", "fourth"), 4096);
  expect_end(0,
             place.eave(train("--context 8 --model first --initial-parameters tuned --run-dir again --max-steps 1")));
  EXPECT_EQ(positions_of("export again", "fifth"), 4096);
}

// What eave exports has a description of its own; what others wrote is described by config.json alone.
TEST(Generate, takes_a_folder_of_hugging_face_with_its_vocabulary) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  const std::string of_gpt2 =
      "--model 'embedding 16 positions 12; residual(layer_norm; linear 48; attention 2; linear 16); "
      "residual(layer_norm; linear 64; gelu_tanh; linear 16); layer_norm; tied_output' ";
  const std::string words =
      "train --data text --data-dir texts --context 12 --text-test-share 0.3 --batch 8 "
      "--optimizer adamw --progress off ";
  expect_end(0, place.eave(words + of_gpt2 + "--lr 0.02 --vocabulary pairs --epochs 25 --run-dir run"));
  expect_end(0, place.eave("export run --layout huggingface --safetensors folder/model.safetensors"));
  const auto generate = [&] { return place.eave("generate folder --temperature 0 --prompt abc --tokens 6"); };
  expect_end(64, generate(), {"folder/model.safetensors does not say which vocabulary", "--vocabulary PATH"});
  for (const char* name : {"encoder.json", "vocab.bpe"})
    std::filesystem::copy(place.path() / "pairs" / name, place.path() / "folder" / name);
  EXPECT_EQ(generate().output, "abcdef\nabcd\n");
  SafetensorsFile weights = read_safetensors(place.path() / "folder/model.safetensors");
  write_safetensors(OutputPath(place.path() / "folder/model.safetensors"), weights.arrays, {{"format", "pt"}});
  EXPECT_EQ(generate().output, "abcdef\nabcd\n");

  expect_end(0, place.eave(words + "--model folder --initial-parameters folder --vocabulary folder --max-steps 1 "
                                   "--lr 0.0001 --overwrite --run-dir tuned"));
  EXPECT_EQ(place.eave("generate tuned --temperature 0 --prompt abc --tokens 6").output, "abcdef\nabcd\n");
  const auto refuse = [&](const std::string& command, const std::string& says) {
    expect_end(64, place.eave(command),
               {"folder", says, command.starts_with("generate") ? "leave --step out" : "name the"});
  };
  refuse("generate folder --step last", "--step last (command line): is for run directories");
  refuse("generate folder --step 3 --checkpoint-dir run/checkpoint", "is a model of Hugging Face's transformers");
  refuse("generate folder/model.safetensors --step last", "folder/model.safetensors is a file");
  refuse("checkpoint ls folder", "is a model of Hugging Face's transformers, and only runs have checkpoints");
  std::filesystem::remove(place.path() / "folder/config.json");
  expect_end(66, generate(), {"no folder/config.json, where transformers keeps the numbers of a model"});
  expect_end(66, place.eave(words + "--model folder --max-steps 1 --lr 0.02 --run-dir other"),
             {"no folder/config.json"});
  // The run has the model's text, and needs the folder no more.
  expect_end(0, place.eave("generate tuned --prompt abc --tokens 6 --vocabulary pairs"));
}

// The identity of the data decides, not the name of the files.
TEST(Vocabulary, may_be_moved_before_a_run_is_resumed_but_not_changed) {
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  expect_end(0, place.eave(train_words("--max-steps 4 --vocabulary pairs --run-dir run")));
  std::filesystem::rename(place.path() / "pairs", place.path() / "moved");
  const std::string resumed = train_words("--resume --run-dir run ");
  expect_end(0, place.eave(resumed + "--max-steps 6 --vocabulary moved"));
  expect_end(78, place.eave(resumed + "--max-steps 8 --vocabulary bytes"), {"data"});
  place.write("moved/vocab.bpe", "#version: 0.2\na b\n");
  expect_end(78, place.eave(resumed + "--max-steps 8 --vocabulary moved"), {"data"});
}

TEST(Vocabulary, may_lie_elsewhere_for_each_rank) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Place place;
  write_texts(place);
  write_vocabulary(place, "pairs");
  write_vocabulary(place, "others");
  const std::string rank = program() + " " + train_words("--max-steps 2 --run-dir run --overwrite --vocabulary ");
  expect_end(0, place.run(mpirun(1) + " " + rank + "pairs : -np 1 " + rank + "others"));
  place.write("others/vocab.bpe", "#version: 0.2\na b\n");
  expect_end(78, place.run(mpirun(1) + " " + rank + "pairs : -np 1 " + rank + "others"), {"data"});
}

TEST(Generate, refuses_what_it_cannot_do) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train_words("--max-steps 1 --run-dir run")));
  expect_end(0, place.eave("train" + std::string(kQuick) + "--run-dir images"));
  const auto expect = [&](int code, const std::string& words, const std::vector<std::string>& says) {
    SCOPED_TRACE(words);
    const Ended ended = place.eave("generate " + words);
    expect_end(code, ended, says);
    EXPECT_EQ(ended.output, "");
  };
  expect(64, "", {"no run given"});
  expect(66, "nowhere", {"no file nowhere"});
  expect(65, "/dev/zero --prompt a", {"/dev/zero is a device that has no end; give a file"});
  expect(78, "images --prompt a", {"images/model.safetensors: its model reads images", "--data text or tokens"});
  expect(64, "run --prompt a --prompt-tokens 1", {"--prompt-tokens", "contradicts --prompt"});
  for (const std::string tokens : {"256", "-1", "1,", ",1", "1,x", "1 2"})
    expect(64, "run --prompt-tokens='" + tokens + "'", {"expected numbers of tokens from 0 to 255"});
  expect(64, "run --temperature -1", {"--temperature", "expected a number from 0"});
  expect(64, "run --temperature nan", {"--temperature"});
  expect(64, "run --top-p 0", {"--top-p", "expected a share above 0"});
  expect(64, "run --top-k -1", {"--top-k"});
  expect(64, "run --checkpoint-dir run", {"--checkpoint-dir", "no effect without --step"});
  expect(66, "run --step 77", {"--step 77: no such checkpoint", "eave checkpoint ls run"});
  expect(66, "run --vocabulary nowhere", {"--vocabulary nowhere: no such file"});
  write_vocabulary(place, "pairs");
  expect(78, "run --vocabulary pairs", {"the vocabulary has 259 tokens", "knows 256"});
}

}  // namespace
}  // namespace eave
