// Language models as people train and compare them: perplexity, bits per byte and tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "data/tokens/vocabulary_files.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

// Options of a bigram model that trains in a moment, on 2 ranks.
const std::string kSmall =
    "--data text --data-dir text --model \"embedding 8; tied_output\" --context 8 --batch 4 --transport threads ";

std::string train(const std::string& more) { return "train --ranks 2 --progress off --run-dir run " + kSmall + more; }

void write_texts(const Place& place) {
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int line = 0; line < 8; ++line)
      text += "Line " + std::to_string(line * (i + 3)) + " of text " + std::to_string(i) + ".\n";
    place.write("text/" + std::to_string(i), text);
  }
}

// Of two kinds of tokens: bytes, and "ab". The texts have nothing but "ab", so each token has two bytes.
void write_texts_of_pairs(const Place& place) {
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int pair = 0; pair < 50 + i; ++pair) text += "ab";
    place.write("text/" + std::to_string(i), text);
  }
  Json numbers = Json::object();
  for (int byte = 0; byte < 256; ++byte) numbers[letter_of_byte(static_cast<std::uint8_t>(byte))] = byte;
  numbers["ab"] = 256;
  place.write("words/encoder.json", numbers.dump());
  place.write("words/vocab.bpe", "#version: 0.2\na b\n");
}

void expect_perplexity(const Json& model, const std::string& which) {
  const double loss = model.at("loss"), score = model.at("score");
  EXPECT_NEAR(score, std::exp(loss), 1e-9 * score) << which;
}

TEST(LanguageModel, is_judged_by_its_perplexity) {
  const Place place;
  write_texts(place);
  const Ended ended = expect_end(
      0, place.eave(train("--communicator easgd --tau 2 --max-steps 6 --validation-share 0.2 --evaluate-every 0.05")));
  const Json summary = json_in(place, "run/summary.json");
  for (const char* which : {"center", "mean_of_workers", "first_worker", "best_worker", "validation"})
    expect_perplexity(summary.at("evaluation").at(which), which);
  EXPECT_NE(summary.at("evaluation").at("validation"), summary.at("evaluation").at("center")) << "of another text";
  EXPECT_EQ(summary.at("test_score"), summary.at("evaluation").at("center").at("score"));
  EXPECT_EQ(summary.at("evaluation").at("metric"), (Json{{"name", "perplexity"}, {"better", "lower"}}));
  EXPECT_GE(records_of(place, "evaluation").size(), 2u);
  for (const Json& line : records_of(place, "evaluation")) expect_perplexity(line.at("center"), "center");
  // Each token is a byte.
  const double loss = summary.at("evaluation").at("center").at("loss");
  EXPECT_NEAR(summary.at("evaluation").at("bits_per_byte"), loss / std::numbers::ln2, 1e-9);
  expect_parts(ended.output, {"test perplexity", "tokens/s", " 384 "});
  EXPECT_EQ(ended.output.find("samples/s"), std::string::npos) << ended.output;
  EXPECT_EQ(summary.at("tokens"), 384) << "6 steps of 2 ranks with 4 windows of 8 tokens";
  EXPECT_NEAR(summary.at("tokens_per_second"), 384 / double(summary.at("seconds")), 1e-6 * 384);
  EXPECT_EQ(records_of(place, "header").at(0).at("tokens_per_sample"), 8);
}

// The text has 131 tokens, 118 of them to train on and 117 of these labels: 14 windows of 8 and one of 5, or 13 of 9.
TEST(LanguageModel, says_of_a_shorter_last_window_how_it_counts) {
  const Place place;
  place.write("text/a.txt", std::string(131, 'a'));
  const std::string short_window = "the last training window has ";
  expect_output(0, place.eave(train("--max-steps 1")),
                {"15 training", short_window + "5 labels, and weighs less in a gradient"});
  const Ended full = expect_output(0, place.eave(train("--max-steps 1 --context 9 --overwrite")), {"13 training"});
  EXPECT_EQ(full.output.find(short_window), std::string::npos) << full.output;
}

// Activations for all of --batch would take 2 GB for each rank.
TEST(LanguageModel, of_few_windows_takes_memory_for_no_more_than_these) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train("--max-steps 1 --model 'embedding 64; tied_output' --batch 500000")));
  EXPECT_LT(json_in(place, "run/summary.json").at("peak_memory_bytes"), 500'000'000);
}

TEST(LanguageModel, nanogpt_has_a_perplexity_too) {
  const Place place;
  write_texts(place);
  expect_end(0,
             place.eave("train --data text --data-dir text --model nanogpt-cpu --batch 12 --transport threads --ranks "
                        "2 --max-steps 12 --run-dir run --progress off"));
  const Json summary = json_in(place, "run/summary.json");
  expect_perplexity(summary.at("evaluation").at("center"), "center");
  EXPECT_GT(summary.at("test_score"), 1);
  const Json whole = json_in(place, "run/summary.json");
  if (!whole.contains("share_of_peak")) GTEST_SKIP() << "the peak of this CPU is not known";
  EXPECT_GT(whole.at("share_of_peak").get<double>(), 0);
  EXPECT_LE(whole.at("share_of_peak").get<double>(), 1) << "a core computes no faster than its peak";
}

TEST(LanguageModel, has_bits_per_byte_by_the_bytes_of_its_test_files) {
  const Place place;
  write_texts_of_pairs(place);
  expect_end(0, place.eave(train("--vocabulary words --communicator allreduce --max-steps 2")));
  const Json evaluation = json_in(place, "run/summary.json").at("evaluation");
  const double loss = evaluation.at("center").at("loss");
  EXPECT_NEAR(evaluation.at("bits_per_byte"), loss / std::numbers::ln2 / 2, 1e-9);
}

TEST(LanguageModel, of_files_of_tokens_has_no_bits_per_byte) {
  const Place place;
  std::string tokens;
  for (int i = 0; i < 900; ++i) tokens += {static_cast<char>(i * i % 50), '\0'};
  place.write("text/train.bin", tokens);
  const std::string words =
      "train --ranks 2 --progress off --run-dir run --data tokens --data-dir text --vocabulary-size "
      "50 --model \"embedding 8; tied_output\" --context 8 --batch 4 --transport threads "
      "--max-steps 2";
  expect_end(0, place.eave(words));
  const Json evaluation = json_in(place, "run/summary.json").at("evaluation");
  expect_perplexity(evaluation.at("center"), "center");
  EXPECT_FALSE(evaluation.contains("bits_per_byte"));
}

TEST(LanguageModel, resumed_with_another_text_is_told_what_may_differ) {
  const Place place;
  write_texts(place);
  expect_end(0, place.eave(train("--max-steps 3")));
  place.write("text/3", "Another text.\n");
  for (const char* resume : {"--resume", "--resume elastic"}) {
    const Ended ended = expect_end(78, place.eave(train("--max-steps 6 " + std::string(resume))),
                                   {"other data: the text, --text-test-share, --context or --vocabulary has changed"});
    EXPECT_FALSE(ended.says("images") || ended.says("elastic goes on")) << ended.errors;
  }
}

TEST(LanguageModel, stops_at_a_loss) {
  const Place place;
  write_texts(place);
  const Ended ended =
      expect_end(0, place.eave(train("--communicator allreduce --evaluate-every 0.1 --stop-at-loss 100 --epochs 2")));
  expect_parts(ended.output, {"the test loss of 100 was reached, in "});
  expect_end(64, place.eave(train("--communicator allreduce --stop-at-accuracy 0.5 --overwrite")),
             {"--stop-at-accuracy", "models of text are judged by perplexity; give --stop-at-loss"});
  expect_end(64, place.eave(train("--communicator allreduce --stop-at-loss 0 --overwrite")),
             {"--stop-at-loss", "expected a loss above 0"});
}

// The mean test perplexity of two seeds.
double perplexity_of(const Place& place, const std::string& name) {
  double sum = 0;
  for (const char* seed : {"1", "2"})
    sum += double(json_in(place, "all/" + name + "-seed" + seed + "/summary.json").at("test_score"));
  return sum / 2;
}

double last_validation(const Place& place, const std::string& run) {
  return json_in(place, "all/" + run + "/summary.json").at("evaluation").at("validation").at("score");
}

TEST(LanguageModel, is_compared_by_perplexity) {
  const Place place;
  write_texts(place);
  const Ended ended = expect_end(0, place.eave("compare --communicators allreduce,local-sgd:tau=2 --ranks 2 --seeds 2 "
                                               "--output all --lr 0.001,1 --epochs 1 " +
                                               kSmall));
  expect_parts(ended.output, {"test perplexity", "tokens/s"});
  EXPECT_EQ(ended.output.find("accura"), std::string::npos) << ended.output;
  // Which rate is better is the same for all methods: the high one, after so few steps.
  for (const std::string who : {"allreduce", "local-sgd-tau-2"}) {
    const std::string name = who + "-p2-b4-lr";
    EXPECT_LT(last_validation(place, name + "1-seed1"), last_validation(place, name + "0.001-seed1"));
    EXPECT_TRUE(std::filesystem::exists(place.path() / "all" / (name + "1-seed2"))) << who;
    EXPECT_FALSE(std::filesystem::exists(place.path() / "all" / (name + "0.001-seed2"))) << who;
  }
  const bool is_allreduce_better =
      perplexity_of(place, "allreduce-p2-b4-lr1") < perplexity_of(place, "local-sgd-tau-2-p2-b4-lr1");
  const std::string leader = is_allreduce_better ? "allreduce" : "local-sgd tau=2";
  const bool is_told_first = ended.output.find(leader + " has test perplexity") != std::string::npos ||
                             ended.output.find(leader + " won: test perplexity") != std::string::npos;
  EXPECT_TRUE(is_told_first) << ended.output;
  expect_parts(place.read("all/report.html"),
               {R"("metric":{"name":"perplexity","better":"lower"})", R"("tokens_per_sample":8)"});
  expect_parts(place.read("all/variants.csv"),
               {"test_perplexity", "validation_perplexity", "by validation perplexity"});
}

}  // namespace
}  // namespace eave
