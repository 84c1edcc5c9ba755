// Arrays in PyTorch's layout, against indices written out by hand.
#include "nn/tensor_layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "eave/check.h"
#include "eave/model.h"
#include "nn/specification.h"
#include "test/expectations.h"

namespace eave {
namespace {

// The places in the arena as values: 0, 1, 2 …
std::vector<float> places(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

StoredTensor find(const Graph& graph, const std::string& name) {
  for (const StoredTensor& tensor : stored_tensors(graph, TensorLayout::kPytorch)) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// The order in which gather reads the tensor's elements, counted from the tensor's first element.
std::vector<float> order_of(const Graph& graph, const std::string& name) {
  const StoredTensor tensor = find(graph, name);
  std::vector<float> order = gather(tensor, places(graph.parameter_size));
  for (float& place : order) place -= static_cast<float>(tensor.offset);
  return order;
}

using Order = std::vector<float>;
using Shape = std::vector<std::int64_t>;

TEST(PytorchLayout, turns_convolutions_to_out_in_height_width) {
  const Graph graph = build_graph("conv2d 2 1x3; dense classes", {1, 3, 2}, 2);
  EXPECT_EQ(find(graph, "conv1.weight").shape, (Shape{2, 2, 1, 3}));
  EXPECT_EQ(order_of(graph, "conv1.weight"), (Order{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
  EXPECT_EQ(order_of(graph, "conv1.bias"), (Order{0, 1}));
}

// Two pixels of three channels: eave stores r0 g0 b0 r1 g1 b1, PyTorch r0 r1 g0 g1 b0 b1.
TEST(PytorchLayout, gives_what_reads_a_flattened_image_its_inputs_channel_by_channel) {
  for (const std::string text :
       {"dense classes", "flatten; dense classes", "flatten; relu; dropout 0.5; flatten; dense classes"}) {
    const Graph graph = build_graph(text, {1, 2, 3}, 2);
    EXPECT_EQ(find(graph, "dense1.weight").shape, (Shape{2, 6}));
    EXPECT_EQ(order_of(graph, "dense1.weight"), (Order{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11})) << text;
  }
  const Graph graph = build_graph("flatten; batch_norm; conv2d 1 1x1; dense classes", {1, 2, 3}, 2);
  EXPECT_EQ(order_of(graph, "bn1.bias"), (Order{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(order_of(graph, "conv1.weight"), (Order{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(order_of(graph, "dense1.weight"), (Order{0, 1}));
}

TEST(PytorchLayout, leaves_inputs_that_were_no_image_as_they_are) {
  const Graph graph = build_graph("global_pool; flatten; dense 2; dense classes", {2, 2, 3}, 2);
  EXPECT_EQ(order_of(graph, "dense1.weight"), (Order{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(order_of(graph, "dense2.weight"), (Order{0, 2, 1, 3}));
  EXPECT_EQ(order_of(build_graph("dense classes", {2, 2, 1}, 1), "dense1.weight"), (Order{0, 1, 2, 3}));
}

TEST(PytorchLayout, names_batch_norm_as_pytorch_does) {
  const Graph graph = build_graph("conv2d 2 3x3; batch_norm; dense classes", {3, 3, 1}, 2);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : stored_tensors(graph, TensorLayout::kPytorch)) {
    if (tensor.name.starts_with("bn")) names.push_back(tensor.name + (tensor.is_statistic ? " moves" : ""));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"bn1.weight", "bn1.bias", "bn1.running_mean moves", "bn1.running_var moves"}));
}

TEST(PytorchLayout, refuses_models_that_have_no_such_order) {
  const std::vector<std::string> texts = {"flatten; residual(dense 12); dense classes",
                                          "flatten; max_pool 2 stride 1 pad 1; dense classes",
                                          "flatten; local_response_norm; dense classes"};
  for (const std::string& text : texts) {
    const Graph graph = build_graph(text, {2, 2, 3}, 2);
    EXPECT_FALSE(stored_tensors(graph, TensorLayout::kEave).empty());
    expect_error(ExitCode::kConfiguration, "PyTorch's layout", [&] { stored_tensors(graph, TensorLayout::kPytorch); });
  }
}

TEST(PytorchLayout, can_be_turned_back_bit_for_bit) {
  for (const std::string& name : model_names()) {
    if (name == "resnet18" || name == "resnet50") continue;  // slow, and resnet20 covers their layers
    if (name == "gpt2" || name == "nanogpt-char") continue;  // large, and nanogpt-cpu covers their layers
    const int side = name == "resnet20" ? 32 : 28;
    const ImageShape input = model_reads_tokens(name) ? ImageShape{64, 1, 1} : ImageShape{side, side, 3};
    const Graph graph = build_graph(model_specification(name), input, 10);
    const std::vector<float> arena = places(graph.parameter_size);
    std::vector<float> back(arena.size());
    for (const StoredTensor& tensor : stored_tensors(graph, TensorLayout::kPytorch)) {
      if (!tensor.is_statistic) scatter(tensor, gather(tensor, arena), back);
    }
    for (const TensorInfo& tensor : graph.parameters) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i)
        ASSERT_EQ(back[static_cast<std::size_t>(i)], arena[static_cast<std::size_t>(i)]) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace eave
