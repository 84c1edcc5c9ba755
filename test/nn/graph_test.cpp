// Models as graphs: the named ones have the sizes of their papers, and blocks that do not fit are refused.
#include "nn/graph.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "eave/model.h"

namespace eave {
namespace {

std::int64_t count_parameters(const std::string& model, ImageShape input, int classes) {
  std::int64_t count = 0;
  for (const TensorInfo& tensor : build_graph(model_specification(model), input, classes).parameters) {
    count += tensor.size;
  }
  return count;
}

std::vector<std::string> parameter_names(const std::string& text, ImageShape input) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : build_graph(text, input, 3).parameters) names.push_back(tensor.name);
  return names;
}

// What the graph of the text fails with.
Error failure_of(const std::string& text) {
  try {
    build_graph(text, {8, 8, 4}, 3);
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::kInternal, "nothing failed"};
}

void expect_failure(const std::string& text, ExitCode code, const std::string& says) {
  const Error error = failure_of(text);
  EXPECT_EQ(error.code(), code) << text;
  EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
}

// That of torchvision 0.26.
TEST(Zoo, resnet50_has_as_many_parameters_as_torchvision) {
  EXPECT_EQ(count_parameters("resnet50", {224, 224, 3}, 1000), 25'557'032);
}

// He et al. 2016, table 6: 0.27 M.
TEST(Zoo, resnet20_has_as_many_parameters_as_its_paper_says) {
  EXPECT_EQ(count_parameters("resnet20", {32, 32, 3}, 10), 269'722);
}

TEST(Graph, names_parameters_of_shortcuts_apart_and_in_the_order_of_the_text) {
  const std::vector<std::string> expected = {"conv1.weight", "bn1.scale",     "bn1.shift",  "shortcut_conv1.weight",
                                             "conv2.weight", "dense1.weight", "dense1.bias"};
  EXPECT_EQ(parameter_names("residual(conv2d 6 1x1 no_bias; batch_norm | conv2d 6 1x1 no_bias); conv2d 3 1x1 no_bias; "
                            "dense classes",
                            {4, 4, 2}),
            expected);
}

TEST(Graph, puts_sum_and_relu_into_the_batch_norm_that_ends_a_shortcut) {
  const Graph graph = build_graph(
      "residual(conv2d 6 1x1; batch_norm | conv2d 6 1x1; batch_norm); relu; global_pool; dense classes", {4, 4, 2}, 3);
  ASSERT_EQ(graph.nodes.size(), 6u);
  EXPECT_EQ(graph.nodes[2].source, 0) << "the shortcut reads the block's input";
  EXPECT_EQ(graph.nodes[3].layer->describe(), "batch_norm, add skip, relu");
  EXPECT_EQ(graph.nodes[3].skip, 2) << "the body's output";
  EXPECT_EQ(graph.nodes[4].source, 4);
}

TEST(Graph, refuses_blocks_that_cannot_be_read) {
  expect_failure("dense 3 | dense 3", ExitCode::kUsage, "a '|' outside of parentheses at character 9");
  expect_failure("residual(relu | relu | relu)", ExitCode::kUsage, "a second '|' in the parentheses of \"residual(\"");
  expect_failure("residual(relu | relu", ExitCode::kUsage, "the ')' of \"residual(\" is missing");
  expect_failure("residual(| relu); dense 3", ExitCode::kUsage, "there are no layers before its '|'");
  expect_failure("residual(relu |); dense 3", ExitCode::kUsage, "there are no layers after its '|'");
  expect_failure("relu(relu | relu); dense 3", ExitCode::kUsage, "it takes no layers in parentheses");
}

TEST(Graph, refuses_blocks_whose_outputs_cannot_be_added) {
  expect_failure("residual(conv2d 8 1x1 | conv2d 6 1x1); dense 3", ExitCode::kConfiguration,
                 "its layers turn 8×8×4 into 8×8×8, but those after '|' into 8×8×6");
  expect_failure("residual(conv2d 3 1x1); dense 3", ExitCode::kConfiguration, "give the shortcut layers after a '|'");
}

}  // namespace
}  // namespace eave
