// Text that grows token by token has the logits of a pass over the whole window.
#include "nn/growing_text.h"

#include <gtest/gtest.h>

#include "nn/step_plan.h"
#include "test/expectations.h"
#include "token_batch.h"

namespace eave {
namespace {

constexpr int kTokens = 61;

std::vector<float> logits_of_window(const TestModel& test, const Graph& graph, const Batch& batch) {
  StepPlan plan(graph, *test.compute, batch.samples, false);
  std::vector<float> arena(static_cast<std::size_t>(plan.arena_size()));
  const ConstSlice inputs = test.compute->begin_pass({}, {batch, 0, 0});
  const ConstSlice logits = plan.forward({inputs, test.parameters, {}, {}, arena});
  return {logits.begin(), logits.end()};
}

// Compares the logits after each of `pieces`, which are numbers of tokens.
void expect_same_logits(const std::string& text, const std::vector<int>& pieces) {
  SCOPED_TRACE(text);
  int positions = 0;
  for (const int piece : pieces) positions += piece;
  const TokenBatch data(positions, kTokens, 1);
  const TestModel test(text, {positions, 1, 1}, kTokens, 1);
  const std::vector<float> window = logits_of_window(test, build_graph(text, {positions, 1, 1}, kTokens), data.batch);
  const Graph graph = build_graph(text, {1, 1, 1}, kTokens);
  ASSERT_EQ(graph.parameter_size, test.model.parameter_size());
  GrowingText grown(graph, *test.compute, test.parameters, positions);
  const std::vector<std::int32_t> tokens(data.inputs.begin(), data.inputs.end());
  for (int repeat = 0; repeat < 2; ++repeat, grown.clear()) {
    std::size_t begin = 0;
    for (const int piece : pieces) {
      const ConstSlice logits = grown.append(std::span(tokens).subspan(begin, static_cast<std::size_t>(piece)));
      begin += static_cast<std::size_t>(piece);
      ASSERT_EQ(logits.size(), static_cast<std::size_t>(kTokens));
      for (std::size_t i = 0; i < logits.size(); ++i)
        ASSERT_NEAR(logits[i], window[(begin - 1) * kTokens + i], 2e-5F) << "after token " << begin;
    }
  }
}

const std::vector<int> kOneByOne(20, 1);

TEST(GrowingText, has_the_logits_of_a_whole_window) {
  const std::string wide = "residual(layer_norm; linear 96 deviation 0.3; attention 4; linear 32 deviation 0.3); ";
  for (const std::string& text :
       {model_specification("nanogpt-cpu"), model_specification("llama-tiny"),
        "embedding 32 positions 40; dropout 0.5; " + wide + wide + "layer_norm; linear classes",
        std::string("embedding 48; residual(rms_norm; linear 96 no_bias deviation 0.4; rotary 4 groups 2; attention 4 "
                    "groups 2; linear 56); residual(linear 56 | linear 56); rms_norm; linear classes no_bias")}) {
    expect_same_logits(text, kOneByOne);
    expect_same_logits(text, {7, 1, 1, 3, 1});
  }
}

TEST(GrowingText, takes_more_tokens_at_once_than_it_computes_together) {
  expect_same_logits(
      "embedding 32 positions 300; residual(layer_norm; linear 96 deviation 0.3; attention 4; linear 32); "
      "tied_output",
      {150, 1, 65, 1});
}

TEST(GrowingText, takes_memory_for_its_tokens_and_not_for_its_context) {
  const std::string text = model_specification("llama-tiny");
  const Graph graph = build_graph(text, {1, 1, 1}, kTokens);
  const TestModel test(text, {1, 1, 1}, kTokens, 1);
  constexpr std::int64_t kContext = 100000;
  GrowingText grown(graph, *test.compute, test.parameters, kContext);
  EXPECT_EQ(grown.places(), 0);
  const std::vector<std::int32_t> tokens(150, 1);
  grown.append(tokens);
  EXPECT_GE(grown.places(), 150);
  EXPECT_LT(grown.places(), 400);
  for (int i = 0; i < 200; ++i) grown.append(std::span(tokens).first(1));
  EXPECT_GE(grown.places(), 350);
  EXPECT_LT(grown.places(), 1000);
}

TEST(GrowingText, is_refused_to_a_model_of_images) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  const Graph graph = build_graph("dense classes", {1, 1, 1}, 4);
  const std::vector<float> parameters(static_cast<std::size_t>(graph.parameter_size));
  expect_error(ExitCode::kConfiguration, "does not predict tokens",
               [&] { GrowingText(graph, *compute, parameters, 8); });
}

TEST(GrowingText, needs_layers_that_treat_positions_alone) {
  for (const std::string layer :
       {"conv2d 8 1x1", "max_pool 1", "average_pool 1", "global_pool", "batch_norm", "flatten", "dense 32"}) {
    SCOPED_TRACE(layer);
    expect_error(ExitCode::kConfiguration, "would depend on later tokens", [&] {
      build_graph("embedding 32; " + layer + "; linear classes", {16, 1, 1}, kTokens);
    });
  }
  expect_error(ExitCode::kConfiguration, "must be the first layer, outside of a residual block", [] {
    build_graph("residual(embedding 1); linear classes", {16, 1, 1}, kTokens);
  });
}

}  // namespace
}  // namespace eave
