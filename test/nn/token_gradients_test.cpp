// Layers of windows of tokens: gradients against central differences in double, labels that count for nothing, and
// attention whose positions see no later ones.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "central_differences.h"
#include "eave/check.h"
#include "kernels/elementwise/words.h"
#include "nn/step_plan.h"
#include "reference.h"
#include "test/allocations.h"
#include "test/expectations.h"
#include "token_batch.h"

namespace eave {
namespace {

struct TokenCase {
  std::string name;
  std::string text;
  int positions, vocabulary, samples;
  float smoothing = 0;
};

class TokenGradients : public ::testing::TestWithParam<TokenCase> {};

TEST_P(TokenGradients, equal_central_differences_in_double) {
  const TokenCase& c = GetParam();
  const ImageShape input{c.positions, 1, 1};
  TestModel test(c.text, input, c.vocabulary, c.samples, 1, c.smoothing);
  const TokenBatch data(c.positions, c.vocabulary, c.samples);
  // Larger weights than a model begins with, so that attention looks at some positions more than at others.
  for (std::size_t i = 0; i < test.parameters.size(); ++i) test.parameters[i] += 0.6f * std::sin(3 * float(i) + 1);
  const Score score = test.train(data.batch);
  const std::int64_t labels = c.samples * c.positions;
  EXPECT_EQ(score.samples, labels - data.without_loss);

  std::vector<double> point(test.parameters.begin(), test.parameters.end());
  const auto loss = [&] {
    return reference_loss(c.text, input, c.vocabulary, data.batch, 5, test.model.parameters(), point,
                          double{c.smoothing})
        .loss;
  };
  const double here = loss();
  EXPECT_NEAR(score.loss_sum / static_cast<double>(labels), here, 1e-5 * (1 + here));
  if (c.smoothing == 0 && c.text.find("dropout") == std::string::npos) {
    EXPECT_NEAR(test.evaluate(data.batch).loss_sum, score.loss_sum, 1e-5 * (1 + score.loss_sum));
  }
  expect_central_differences(test.model.parameters(), point, loss,
                             std::vector<double>(test.gradients.begin(), test.gradients.end()));
}

const TokenCase kTokenCases[] = {
    {"embedding", "embedding 5; linear classes", 3, 7, 4},
    {"embedding_of_one_token", "embedding 4 positions 3; linear classes", 1, 5, 3},
    {"positions_more_than_tokens", "embedding 4 positions 9; linear classes", 5, 6, 2},
    {"linear_without_bias", "embedding 6; linear 9 no_bias; relu; linear classes no_bias", 4, 5, 3},
    {"tied_output", "embedding 6 positions 4; linear 6; gelu; tied_output", 4, 11, 3},
    {"layer_norm", "embedding 21; layer_norm; linear classes", 3, 5, 3},
    {"layer_norm_without_bias", "embedding 18; layer_norm no_bias epsilon 0.1; linear classes", 3, 5, 3},
    {"layer_norm_of_many_rows", "embedding 3; layer_norm; linear classes", 10, 5, 15},
    {"rms_norm", "embedding 19; rms_norm; linear classes", 3, 5, 3},
    {"attention", "embedding 6 positions 5; linear 24; attention 2; linear classes", 5, 6, 3},
    {"attention_of_one_token", "embedding 6; linear 9; attention 1; linear classes", 1, 6, 3},
    {"attention_of_several_panels", "embedding 2 positions 67; linear 6; attention 2; linear classes", 67, 4, 1},
    {"attention_of_groups", "embedding 4 positions 35; linear 24; attention 4 groups 2; linear classes", 35, 5, 2},
    {"attention_of_one_group", "embedding 4; linear 10; attention 3 groups 1; linear classes", 9, 5, 2},
    {"attention_with_dropout", "embedding 6 positions 5; linear 24; attention 2 dropout 0.3; linear classes", 5, 6, 3},
    {"attention_of_several_panels_with_dropout",
     "embedding 4 positions 67; linear 16; attention 2 groups 1 dropout 0.5; linear classes", 67, 4, 1},
    {"rotary", "embedding 8; linear 24; rotary 2; attention 2; linear classes", 7, 5, 2},
    {"rotary_of_groups", "embedding 4; linear 32; rotary 2 groups 1 base 100; attention 2 groups 1; linear classes", 5,
     5, 2},
    {"blocks",
     "embedding 8 positions 6; residual(layer_norm; linear 24 no_bias; attention 2; linear 8); residual(layer_norm "
     "no_bias; linear 12; gelu_tanh; linear 8 no_bias); layer_norm; tied_output",
     6, 9, 2},
    {"smoothed_labels", "embedding 5; linear classes", 4, 7, 3, 0.1f},
    {"smoothed_labels_of_a_tied_output", "embedding 5; linear 5; tied_output", 4, 13, 3, 0.6f},
};

INSTANTIATE_TEST_SUITE_P(Layers, TokenGradients, ::testing::ValuesIn(kTokenCases),
                         [](const auto& which) { return which.param.name; });

// Each word of kernels/elementwise without parameter is also the binary operation word(a) · b.
std::vector<TokenCase> gate_cases() {
  std::vector<TokenCase> cases;
#define EAVE_ADD(word, Word)                        \
  if constexpr (std::is_empty_v<elementwise::Word>) \
    cases.push_back({"gated_by_" #word, "embedding 6; linear 26; gated " #word "; linear classes", 3, 5, 3});
  EAVE_EACH_ELEMENTWISE(EAVE_ADD)
#undef EAVE_ADD
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Gates, TokenGradients, ::testing::ValuesIn(gate_cases()),
                         [](const auto& which) { return which.param.name; });

constexpr const char* kBlocks =
    "embedding 8 positions 6; residual(layer_norm; linear 24; attention 2; linear 8); layer_norm; tied_output";

// The parts have 1 and 3 samples, as two ranks may have, and different numbers of labels without a loss.
TEST(Tokens, parts_of_a_batch_add_up_to_its_gradient) {
  const ImageShape input{6, 1, 1};
  TestModel whole(kBlocks, input, 9, 4), part(kBlocks, input, 9, 4);
  const TokenBatch data(6, 9, 4);
  const Score all = whole.train(data.batch);
  std::vector<float> sum(whole.gradients.size());
  Score parts;
  for (const auto& [begin, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 3}}) {
    Batch batch = data.batch;
    batch.samples = static_cast<std::int64_t>(count);
    batch.inputs = batch.inputs.subspan(begin * 6, count * 6);
    batch.labels = batch.labels.subspan(begin * 6, count * 6);
    batch.indices = batch.indices.subspan(begin, count);
    const Score score = part.train(batch, static_cast<float>(count) / 4);
    parts = {parts.loss_sum + score.loss_sum, parts.correct + score.correct, parts.samples + score.samples};
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.gradients[i];
  }
  EXPECT_EQ(parts.samples, all.samples);
  EXPECT_EQ(parts.correct, all.correct);
  EXPECT_NEAR(parts.loss_sum, all.loss_sum, 1e-5);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], whole.gradients[i], 1e-6);
}

// With this vocabulary the logits of a batch are computed in three parts, the last one smaller.
TEST(Tokens, have_the_same_loss_and_gradients_with_logits_in_parts) {
  constexpr int kVocabulary = 50257, kPositions = 150;
  for (const std::string text : {"embedding 4; linear 4; tied_output", "embedding 4; linear classes"}) {
    const ImageShape input{kPositions, 1, 1};
    TestModel test(text, input, kVocabulary, 4);
    const TokenBatch data(kPositions, kVocabulary, 4);
    const Score score = test.train(data.batch), evaluated = test.evaluate(data.batch);
    EXPECT_LT(test.model.activation_bytes(), 80 << 20);

    const Graph graph = build_graph(text, input, kVocabulary);
    StepPlan plan(graph, *test.compute, 4, true);  // with all logits in memory
    std::vector<float> arena(static_cast<std::size_t>(plan.arena_size())), gradients(test.gradients.size());
    const float factor = 1.0f / (4 * kPositions);
    const ConstSlice inputs = test.compute->begin_pass({}, {data.batch, 5, factor});
    const StepCall call{inputs, test.parameters, {}, {}, arena};
    EXPECT_EQ(plan.forward(call).size(), std::size_t{4} * kPositions * kVocabulary);
    plan.compute_loss(call, gradients);
    plan.backward(call, gradients, [](Slice) {});
    const LossSum whole = test.compute->loss(test.compute->end_pass());
    EXPECT_NEAR(score.loss_sum, whole.loss_sum, 1e-9 * whole.loss_sum);
    EXPECT_EQ(score.correct, whole.correct);
    EXPECT_NEAR(evaluated.loss_sum, whole.loss_sum, 1e-9 * whole.loss_sum);
    float largest = 0;
    for (const float gradient : gradients) largest = std::max(largest, std::abs(gradient));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      ASSERT_NEAR(test.gradients[i], gradients[i], 1e-6f * largest) << text << " " << i;
    }
  }
}

TEST(Tokens, have_the_same_attention_with_several_threads) {
  const AttentionShape shape{3, 70, 6, 2, 16, 0.2f, 1};
  const TokenBatch data(70, 9, 3);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const std::unique_ptr<Compute> compute = make_cpu_compute(threads);
    const auto plan = compute->plan(shape);
    const auto rows = static_cast<std::size_t>(shape.samples * shape.positions);
    std::vector<float> input(rows * static_cast<std::size_t>(shape.input_row())), d_input(input.size());
    std::vector<float> output(rows * static_cast<std::size_t>(shape.output_row())), d_output(output.size());
    std::vector<float> saved(static_cast<std::size_t>(plan->saved_size()));
    std::vector<float> scratch(static_cast<std::size_t>(plan->scratch_size()), std::nanf(""));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<float>(i));
    for (std::size_t i = 0; i < output.size(); ++i) d_output[i] = std::cos(2 * static_cast<float>(i));
    compute->begin_pass({}, {data.batch, 5, 1});
    plan->forward({input, output, saved, scratch});
    plan->backward({input, output, saved, d_output, d_input, scratch});
    compute->end_pass();
    output.insert(output.end(), d_input.begin(), d_input.end());
    results.push_back(output);
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
  make_cpu_compute(1);  // the tests that follow use one thread
}

TEST(Tokens, have_losses_without_smoothing_in_evaluation) {
  TestModel plain(kBlocks, {6, 1, 1}, 9, 2), smoothed(kBlocks, {6, 1, 1}, 9, 2, 1, 0.3f);
  const TokenBatch data(6, 9, 2);
  EXPECT_EQ(smoothed.evaluate(data.batch).loss_sum, plain.evaluate(data.batch).loss_sum);
  EXPECT_NE(smoothed.train(data.batch).loss_sum, plain.train(data.batch).loss_sum);
}

// Each rank's samples get the shares that they get in the whole batch.
TEST(Tokens, are_dropped_alike_in_parts_of_a_batch) {
  const std::string text = "embedding 8; residual(linear 24; attention 2 dropout 0.4; linear 8); tied_output";
  TestModel whole(text, {19, 1, 1}, 9, 4), part(text, {19, 1, 1}, 9, 4);
  const TokenBatch data(19, 9, 4), first(19, 9, 1), others(19, 9, 3, 1);
  const Score all = whole.train(data.batch);
  const double parts = part.train(first.batch).loss_sum + part.train(others.batch).loss_sum;
  EXPECT_NEAR(parts, all.loss_sum, 1e-5);
  EXPECT_NE(whole.evaluate(data.batch).loss_sum, all.loss_sum);
}

TEST(Tokens, of_a_batch_without_any_loss_have_gradients_of_0) {
  TestModel test(kBlocks, {6, 1, 1}, 9, 2);
  TokenBatch data(6, 9, 2);
  std::ranges::fill(data.labels, kNoLabel);
  const Score score = test.train(data.batch);
  EXPECT_EQ(score.loss_sum, 0);
  EXPECT_EQ(score.samples, 0);
  for (const float gradient : test.gradients) EXPECT_EQ(gradient, 0);
}

TEST(Tokens, need_no_memory_in_a_step) {
  for (const std::string text : {kBlocks,
                                 "embedding 8; residual(rms_norm; linear 16; rotary 2 groups 1; attention 2 groups 1); "
                                 "linear 12; gated silu; linear classes"}) {
    TestModel test(text, {6, 1, 1}, 9, 3);
    const TokenBatch data(6, 9, 3);
    test.train(data.batch);
    const long before = allocations();
    test.train(data.batch);
    EXPECT_EQ(allocations(), before) << text;
  }
}

TEST(Tokens, see_no_later_ones) {
  TestModel test(kBlocks, {6, 1, 1}, 9, 1);
  TokenBatch data(6, 9, 1);
  std::ranges::fill(data.labels, kNoLabel);
  data.labels[3] = 4;
  const double before = test.evaluate(data.batch).loss_sum;
  for (const std::size_t later : {4u, 5u}) data.inputs[later] = data.inputs[later] == 0 ? 1.0f : 0.0f;
  EXPECT_EQ(test.evaluate(data.batch).loss_sum, before);
  data.inputs[2] = data.inputs[2] == 0 ? 1.0f : 0.0f;
  EXPECT_NE(test.evaluate(data.batch).loss_sum, before);
}

TEST(Tokens, are_refused_if_they_are_none) {
  for (const float wrong : {-1.0f, 9.0f, 0.5f, std::nanf("")}) {
    TestModel test(kBlocks, {6, 1, 1}, 9, 1);
    TokenBatch data(6, 9, 1);
    data.inputs[1] = wrong;
    EXPECT_THROW(test.evaluate(data.batch), Error) << wrong;
  }
}

TEST(Tokens, need_models_that_fit) {
  const auto refuses = [](const std::string& text, ImageShape input, const std::string& words) {
    EXPECT_TRUE(says(error_of([&] { build_graph(text, input, 9); }).what(), words)) << text;
  };
  refuses("embedding 4; linear classes", {28, 28, 1}, "give data of text");
  refuses("linear 4; embedding 4", {6, 1, 1}, "it must be the first layer");
  refuses("embedding 4 positions 5; linear classes", {6, 1, 1}, "the model has positions for 5");
  refuses("linear 4; tied_output", {6, 1, 1}, "the model has none");
  refuses("embedding 4; linear 5; tied_output", {6, 1, 1}, "vectors have 4 numbers, but its input has 5 channels");
  refuses("embedding 4; tied_output; linear 4; tied_output", {6, 1, 1}, "the model has a tied_output already");
  refuses("embedding 4; linear 8; attention 1; linear classes", {6, 1, 1}, "no multiple of 3");
  refuses("embedding 4; linear 15; attention 3 groups 2; linear classes", {6, 1, 1}, "cannot share");
  refuses("embedding 4; linear 5", {6, 1, 1}, "end with \"tied_output\"");
}

}  // namespace
}  // namespace eave
