// Gradients of every layer, alone and in the combinations that eave fuses, against central differences. The differences
// come from a reference in double that shares no code with the layers.
#include <gtest/gtest.h>

#include <cmath>

#include "central_differences.h"
#include "fixture.h"
#include "kernels/elementwise/words.h"
#include "reference.h"

namespace eave {
namespace {

struct Case {
  std::string name;
  std::string text;
  ImageShape input;
  int samples;
};

class Gradients : public ::testing::TestWithParam<Case> {};

constexpr int kClasses = 3;

TEST_P(Gradients, equal_central_differences_in_double) {
  const Case& c = GetParam();
  TestModel test(c.text, c.input, kClasses, c.samples);
  const TestBatch data(c.input, kClasses, c.samples, 100, 3);
  for (std::size_t i = 0; i < test.parameters.size(); ++i) test.parameters[i] += 0.05f * std::sin(float(i) + 1);
  const Score score = test.train(data.batch);

  std::vector<double> point(test.parameters.begin(), test.parameters.end());
  const auto loss = [&] {
    return reference_loss(c.text, c.input, kClasses, data.batch, 5, test.model.parameters(), point).loss;
  };
  const double here = loss();
  EXPECT_NEAR(score.loss_sum / c.samples, here, 1e-5 * (1 + here));
  expect_central_differences(test.model.parameters(), point, loss,
                             std::vector<double>(test.gradients.begin(), test.gradients.end()));
}

// Evaluation frees an activation after its last reader, training keeps all of them. Both must give the same loss.
TEST_P(Gradients, come_of_the_loss_that_evaluation_finds) {
  const Case& c = GetParam();
  TestModel test(c.text, c.input, kClasses, c.samples);
  const TestBatch data(c.input, kClasses, c.samples, 100, 3);
  if (test.model.statistics_size() > 0 || c.text.find("dropout") != std::string::npos) return;
  EXPECT_NEAR(test.evaluate(data.batch).loss_sum, test.train(data.batch).loss_sum, 1e-5 * c.samples);
}

const Case kCases[] = {
    {"dense", "dense classes", {2, 3, 2}, 5},
    {"dense_relu", "dense 7; relu; dense classes", {1, 1, 6}, 9},
    {"dense_wide", "dense 70; relu; dense classes", {1, 1, 5}, 3},
    {"relu_alone", "relu; dense 5; dropout 0.2; relu; dense classes", {1, 1, 6}, 7},
    {"dropout", "dense 20; relu; dropout 0.5; dense 9; dropout 0.3; dense classes", {1, 1, 6}, 7},
    {"conv", "conv2d 4 3x3; dense classes", {6, 5, 2}, 3},
    {"conv_relu", "conv2d 16 3x2; relu; dense classes", {5, 5, 3}, 3},
    {"conv_padded_strided", "conv2d 5 3x3 pad 1 stride 2; relu; conv2d 4 3x3 pad 2; dense classes", {7, 6, 3}, 3},
    {"conv_stride_cuts_padding", "conv2d 4 3x3 pad 1 stride 3; dense classes", {6, 6, 2}, 3},
    {"conv_no_bias", "conv2d 3 2x2 no_bias; relu; dense classes", {4, 4, 1}, 4},
    {"conv_one_channel", "conv2d 16 5x5 pad 2; relu; max_pool 2; dense classes", {8, 8, 1}, 3},
    {"conv_pool",
     "conv2d 16 3x3 pad 1; relu; max_pool 2; conv2d 16 3x3; relu; max_pool 2; dense classes",
     {8, 8, 3},
     3},
    {"conv_pool_leftover",
     "conv2d 16 3x3; relu; max_pool 2; conv2d 32 3x3 pad 1; relu; max_pool 3; dense classes",
     {9, 9, 2},
     2},
    {"conv_pool_odd_channels",
     "conv2d 5 3x3 pad 1; relu; max_pool 2; conv2d 6 2x2; relu; max_pool 2; dense classes",
     {8, 8, 3},
     3},
    {"max_pool_alone", "conv2d 4 3x3; max_pool 2; relu; dense classes", {8, 7, 2}, 3},
    {"max_pool_overlapping", "conv2d 4 2x2; relu; max_pool 3 stride 2 pad 1; dense classes", {8, 8, 2}, 3},
    {"average_pool", "conv2d 4 3x3; average_pool 2; dense classes", {8, 7, 2}, 3},
    {"average_pool_overlapping", "conv2d 4 2x2; relu; average_pool 3 stride 2 pad 1; dense classes", {8, 8, 2}, 3},
    {"global_pool", "conv2d 6 3x3; relu; global_pool; dense classes", {6, 5, 2}, 4},
    {"local_response_norm", "conv2d 9 3x3; local_response_norm alpha 0.5; dense classes", {5, 5, 2}, 3},
    {"local_response_norm_of_tutorial",
     "conv2d 12 3x3; relu; local_response_norm radius 4 alpha 0.3 bias 1; conv2d 4 2x2; relu; dense classes",
     {5, 5, 2},
     3},
    {"local_response_norm_of_any_power",
     "conv2d 9 3x3; local_response_norm radius 1 alpha 2 beta 0.6 bias 0.5; dense classes",
     {5, 5, 2},
     3},
    {"local_response_norm_of_all_channels",
     "conv2d 5 3x3; local_response_norm radius 5 alpha 0.2; dense classes",
     {5, 5, 2},
     3},
    {"local_response_norm_of_many_channels",
     "dense 300; local_response_norm radius 30 alpha 0.1; dense classes",
     {1, 1, 2},
     3},
    {"batch_norm", "conv2d 16 3x3 no_bias; batch_norm; dense classes", {5, 5, 2}, 4},
    {"batch_norm_relu",
     "conv2d 5 3x3; batch_norm; relu; conv2d 33 2x2; batch_norm; relu; global_pool; dense classes",
     {5, 5, 2},
     4},
    {"batch_norm_of_dense", "dense 6; batch_norm; relu; dense classes", {1, 1, 5}, 9},
    {"batch_norm_first", "batch_norm; conv2d 4 3x3; relu; dense classes", {5, 5, 3}, 4},
    {"residual", "conv2d 4 3x3; residual(conv2d 4 3x3 pad 1; relu; conv2d 4 1x1); relu; dense classes", {5, 5, 2}, 3},
    {"residual_of_input", "residual(conv2d 2 3x3 pad 1; batch_norm); relu; dense classes", {5, 5, 2}, 4},
    {"residual_fused",
     "conv2d 4 3x3; batch_norm; relu; residual(conv2d 4 3x3 pad 1; batch_norm; relu; conv2d 4 3x3 pad 1; batch_norm); "
     "relu; global_pool; dense classes",
     {6, 6, 2},
     4},
    {"residual_shrinking",
     "conv2d 4 3x3; relu; residual(conv2d 8 3x3 pad 1 stride 2; batch_norm; relu; conv2d 8 3x3 pad 1; batch_norm); "
     "relu; "
     "residual(conv2d 8 3x3 pad 1; batch_norm); relu; dense classes",
     {9, 8, 2},
     3},
    {"residual_nested",
     "conv2d 4 3x3; residual(residual(conv2d 4 3x3 pad 1; batch_norm); relu; batch_norm); dense classes",
     {5, 5, 2},
     3},
    {"residual_of_batch_norm", "conv2d 4 3x3; residual(batch_norm); relu; dense classes", {5, 5, 2}, 3},
    {"shortcut", "conv2d 4 3x3; residual(conv2d 6 3x3 pad 1; relu | conv2d 6 1x1); relu; dense classes", {5, 5, 2}, 3},
    {"shortcut_fused",
     "conv2d 3 3x3 stride 2 pad 1 no_bias; batch_norm; relu; max_pool 3 stride 2 pad 1; residual(conv2d 2 1x1 no_bias; "
     "batch_norm; relu; conv2d 2 3x3 stride 2 pad 1 no_bias; batch_norm; relu; conv2d 8 1x1 no_bias; batch_norm | "
     "conv2d 8 1x1 stride 2 no_bias; batch_norm); relu; residual(conv2d 2 1x1 no_bias; batch_norm; relu; conv2d 8 1x1 "
     "no_bias; batch_norm); relu; global_pool; dense classes",
     {14, 15, 3},
     3},
    {"shortcut_of_input", "residual(conv2d 4 3x3 pad 1; batch_norm | conv2d 4 1x1); relu; dense classes", {5, 5, 2}, 4},
    {"shortcut_without_parameters",
     "residual(conv2d 2 3x3; relu | average_pool 3 stride 1); dense 6; residual(relu; dense 5 | max_pool 1; dense 5); "
     "dense classes",
     {5, 5, 2},
     4},
    {"shortcut_alone_with_parameters", "residual(relu | conv2d 2 3x3 pad 1); dense classes", {5, 5, 2}, 4},
    {"shortcut_is_view", "conv2d 4 3x3; relu; residual(dense 36 | flatten); relu; dense classes", {5, 5, 2}, 3},
    {"leaky_relu_of_given_slope", "dense 9; leaky_relu 0.3; dense classes", {1, 1, 6}, 7},
    {"shortcut_nested",
     "conv2d 4 3x3; residual(residual(conv2d 5 3x3 pad 1; batch_norm | conv2d 5 1x1; batch_norm); relu; conv2d 6 1x1 | "
     "residual(conv2d 4 3x3 pad 1; batch_norm); relu; conv2d 6 1x1; batch_norm); dense classes",
     {5, 5, 2},
     3},
};

INSTANTIATE_TEST_SUITE_P(Layers, Gradients, ::testing::ValuesIn(kCases),
                         [](const auto& which) { return std::string(which.param.name); });

// Each word of kernels/elementwise is a layer of the same name. Here it reads the model's input, a layer's output in
// training, and the output of a block.
std::vector<Case> activation_cases() {
  std::vector<Case> cases;
  for (const std::string word : {
#define EAVE_WORD(word, Word) #word,
           EAVE_EACH_ELEMENTWISE(EAVE_WORD)
#undef EAVE_WORD
       }) {
    cases.push_back({word + "_first", word + "; dense 5; dropout 0.2; " + word + "; dense classes", {1, 1, 6}, 7});
    cases.push_back({word + "_in_block",
                     "conv2d 4 3x3; " + word + "; residual(conv2d 4 3x3 pad 1; " + word + "; batch_norm); " + word +
                         "; max_pool 2; dense classes",
                     {6, 6, 2},
                     3});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Activations, Gradients, ::testing::ValuesIn(activation_cases()),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace eave
