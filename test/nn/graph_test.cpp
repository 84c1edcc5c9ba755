// Models as graphs: the named ones have the sizes of their papers, and blocks that do not fit are refused.
#include "nn/graph.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "eave/model.h"
#include "test/expectations.h"

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

void expect_failure(const std::string& text, ExitCode code, const std::string& words) {
  expect_error(code, words, [&] { build_graph(text, {8, 8, 4}, 3); });
}

struct Published {
  const char* model;
  ImageShape input;
  int classes;
  std::int64_t parameters;
  const char* source;
};

// If a source gives only the layers, the number of parameters is written as the sum over their weights and biases.
const std::vector<Published> kPublished = {
    {"mlp", {28, 28, 1}, 10, 784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10, "its text"},
    {"lenet",
     {28, 28, 1},
     10,
     25 * 32 + 32 + 25 * 32 * 64 + 64 + 3136 * 1024 + 1024 + 1024 * 10 + 10,
     "its text; two pools leave 7 x 7 x 64"},
    {"cifar7",
     {28, 28, 3},
     10,
     25 * 3 * 64 + 64 + 25 * 64 * 128 + 128 + 9 * 128 * 64 + 64 + 256 * 256 + 256 + 256 * 10 + 10,
     "Zhang et al. 2015, section 5: the layers"},
    {"tf-cifar10", {24, 24, 3}, 10, 1'068'298, "TensorFlow's tutorial \"Convolutional Neural Networks\": the number"},
    {"cnn7",
     {32, 32, 3},
     10,
     9 * 3 * 64 + 64 + 9 * 64 * 64 + 64 + 9 * 64 * 128 + 128 + 9 * 128 * 128 + 128 + 3200 * 256 + 256 + 256 * 256 +
         256 + 256 * 10 + 10,
     "Carlini and Wagner 2017, table 1: the layers"},
    {"resnet18", {224, 224, 3}, 1000, 11'689'512, "torchvision 0.26: the number"},
    {"resnet20", {32, 32, 3}, 10, 269'722, "He et al. 2016, table 6: 0.27 M; exactly, with the text's option A"},
    {"resnet50", {224, 224, 3}, 1000, 25'557'032, "torchvision 0.26: the number"},
    {"nanogpt-cpu", {64, 1, 1}, 65, 795'904 + 64 * 128, "nanoGPT prints 0.80M, without the positions"},
    {"nanogpt-char", {256, 1, 1}, 65, 10'646'784 + 256 * 384, "nanoGPT prints 10.65M, without the positions"},
    {"gpt2", {1024, 1, 1}, 50257, 124'439'808, "Hugging Face's gpt2: the number"},
    {"llama-tiny", {512, 1, 1}, 512, 260'032, "llama2.c's stories260K: its file has as many"},
};

TEST(Zoo, models_have_as_many_parameters_as_was_published) {
  std::vector<std::string> names;
  for (const Published& each : kPublished) {
    names.emplace_back(each.model);
    EXPECT_EQ(count_parameters(each.model, each.input, each.classes), each.parameters)
        << each.model << ", " << each.source;
  }
  EXPECT_EQ(names, model_names()) << "each model has its row, in this order";
}

// Without this test only a person who trains the model would find a crop that does not fit its layers.
TEST(Zoo, models_made_for_a_crop_take_it) {
  for (const Published& each : kPublished) {
    const int crop = model_crop(each.model);
    EXPECT_TRUE(crop == 0 || crop == each.input.height) << each.model;
  }
}

TEST(Zoo, models_are_found_with_blanks_around_their_names) {
  EXPECT_EQ(model_specification(" lenet\t"), model_specification("lenet"));
  EXPECT_EQ(model_crop("tf-cifar10 "), model_crop("tf-cifar10"));
}

TEST(Zoo, names_that_are_none_suggest_models_and_list_no_layers) {
  const auto refusal = [](const std::string& text) -> std::string {
    return error_of([&] { model_specification(text); }).what();
  };
  for (const auto& [text, suggested] :
       std::vector<std::pair<std::string, std::string>>{{"resnet", "did you mean resnet18, resnet20 or resnet50?"},
                                                        {"ResNet5", "did you mean resnet50?"},
                                                        {"lent ", "did you mean lenet?"},
                                                        {"lenet 5", "did you mean lenet?"}}) {
    const std::string found = refusal(text);
    EXPECT_TRUE(says(found, suggested));
    EXPECT_FALSE(says(found, "Layers are"));
  }
  EXPECT_NE(refusal("flaten; dense classes").find("did you mean \"flatten\"?"), std::string::npos);
}

TEST(Zoo, cnn7_takes_photographs_of_other_sizes) {
  for (const int side : {28, 32, 48, 64}) EXPECT_GT(count_parameters("cnn7", {side, side, 3}, 10), 0) << side;
}

// Normal with deviation 1 / sqrt(inputs of a value); biases begin at 0. A layer of equal shape and another seed have
// other weights.
TEST(InitialWeights, have_the_deviation_of_their_inputs_and_follow_the_seed) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  const Model model("conv2d 100 5x5; flatten; dense 100; dense 100; dense classes", {5, 5, 16}, 10, 1, *compute);
  const auto drawn_from = [&](std::uint64_t seed) {
    std::vector<float> parameters(static_cast<std::size_t>(model.parameter_size()));
    model.initialise(seed, parameters, {});
    return parameters;
  };
  const std::vector<float> parameters = drawn_from(1);
  const auto values_of = [&](std::size_t tensor) {
    const TensorInfo& info = model.parameters()[tensor];
    return std::vector<float>(parameters.begin() + info.offset, parameters.begin() + info.offset + info.size);
  };
  const auto expect_deviation = [&](std::size_t tensor, double inputs) {
    double squares = 0;
    const std::vector<float> values = values_of(tensor);
    for (const float value : values) squares += double{value} * double{value} / static_cast<double>(values.size());
    EXPECT_NEAR(std::sqrt(squares * inputs), 1, 0.03) << tensor;
  };
  expect_deviation(0, 5 * 5 * 16);
  expect_deviation(2, 100);
  EXPECT_EQ(values_of(1), std::vector<float>(100, 0.0F));
  EXPECT_NE(values_of(2), values_of(4));
  EXPECT_EQ(drawn_from(1), parameters);
  EXPECT_NE(drawn_from(2), parameters);
}

TEST(Embedding, begins_with_the_deviation_that_its_text_names) {
  const auto deviation_of = [](const std::string& words) {
    const std::unique_ptr<Compute> compute = make_cpu_compute(1);
    const Model model("embedding 64 positions 8" + words + "; linear classes", {8, 1, 1}, 100, 1, *compute);
    std::vector<float> parameters(static_cast<std::size_t>(model.parameter_size()));
    model.initialise(1, parameters, {});
    double squares = 0;
    for (int i = 0; i < 6400; ++i) squares += double{parameters[i]} * double{parameters[i]};
    return std::sqrt(squares / 6400);
  };
  EXPECT_NEAR(deviation_of(""), 0.02, 0.001);
  EXPECT_NEAR(deviation_of(" deviation 0.5"), 0.5, 0.025);
}

// Runs of the same seed begin alike in every version. A deviation of 0.02F would give other bits than 0.02.
TEST(Embedding, begins_with_the_same_bits_as_ever) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  const Model model("embedding 64 positions 8; linear classes", {8, 1, 1}, 100, 1, *compute);
  std::vector<float> parameters(static_cast<std::size_t>(model.parameter_size()));
  model.initialise(1, parameters, {});
  EXPECT_EQ(parameters[2], 0x1.b492acp-7F);
  EXPECT_EQ(parameters[9], 0x1.63b6ecp-7F);
  EXPECT_EQ(parameters[14], -0x1.c1f358p-9F);
  EXPECT_EQ(parameters[25], -0x1.aca062p-6F);
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

TEST(Graph, an_unknown_layer_gets_the_likely_one_and_all_that_there_are) {
  expect_failure("wibble", ExitCode::kUsage, "there is no layer \"wibble\". Layers are:\n");
  expect_failure("rellu", ExitCode::kUsage, "there is no layer \"rellu\"; did you mean \"relu\"? Layers are:\n");
}

TEST(Graph, refuses_numbers_of_a_norm_that_mean_nothing) {
  expect_failure("local_response_norm bias 0; dense 3", ExitCode::kUsage,
                 "the bias is a number from 0.001 to 1000, not \"0\"");
  expect_failure("local_response_norm alpha nan; dense 3", ExitCode::kUsage,
                 "alpha is a number from 0 to 1000, not \"nan\"");
  expect_failure("local_response_norm radius 65; dense 3", ExitCode::kUsage,
                 "the radius is a whole number from 1 to 64, not \"65\"");
  expect_failure("local_response_norm 5; dense 3", ExitCode::kUsage, "\"5\" is not understood here");
}

TEST(Graph, refuses_blocks_whose_outputs_cannot_be_added) {
  expect_failure("residual(conv2d 8 1x1 | conv2d 6 1x1); dense 3", ExitCode::kConfiguration,
                 "its layers turn 8×8×4 into 8×8×8, but those after '|' into 8×8×6");
  expect_failure("residual(conv2d 3 1x1); dense 3", ExitCode::kConfiguration, "give the shortcut layers after a '|'");
}

TEST(Graph, refuses_rotary_positions_of_other_heads_than_those_of_the_attention_behind) {
  for (const std::string rest : {"attention 4", "attention 2", "relu; attention 2 groups 1", "rotary 2 groups 1",
                                 "residual(linear 32)", "linear 32; attention 2 groups 1", "dropout 0.1"}) {
    SCOPED_TRACE(rest);
    const std::string says =
        "layer 2 \"rotary 2 groups 1\": it turns queries and keys for attention, so \"attention 2 "
        "groups 1\" must be the next layer";
    expect_failure("linear 48; rotary 2 groups 1; " + rest + "; dense 3", ExitCode::kConfiguration, says);
  }
  expect_failure("residual(linear 12; rotary 1); dense 3", ExitCode::kConfiguration, "so \"attention 1\" must");
}

// "linear1.weight 8+4+4, linear2.weight, linear3.weight output"
std::string matrices_of(const std::string& text, int classes) {
  std::string all;
  for (const TensorInfo& tensor : build_graph(text, {4, 1, 1}, classes).parameters) {
    if (tensor.shape.size() < 2 || tensor.name.starts_with("embed")) continue;
    all += (all.empty() ? "" : ", ") + tensor.name + (tensor.is_output ? " output" : "");
    for (std::size_t i = 0; i < tensor.parts.size(); ++i) all += (i == 0 ? " " : "+") + std::to_string(tensor.parts[i]);
  }
  return all;
}

TEST(Matrices, tell_the_output_which_a_tied_one_is_not) {
  const std::string hidden = "embedding 8; residual(linear 16; gelu; linear 8); layer_norm; ";
  for (const int classes : {8, 9}) {
    EXPECT_EQ(matrices_of(hidden + "tied_output", classes), "linear1.weight, linear2.weight");
    EXPECT_EQ(matrices_of(hidden + "linear classes", classes), "linear1.weight, linear2.weight, linear3.weight output");
  }
}

TEST(Matrices, tell_the_columns_of_queries_keys_values_and_gates) {
  EXPECT_EQ(matrices_of("embedding 8; residual(linear 16; rotary 2 groups 1; attention 2 groups 1; linear 8); "
                        "residual(linear 24; attention 2; dropout 0.1; linear 8); residual(linear 10; dropout 0.1; "
                        "gated silu; linear 8); linear classes",
                        9),
            "linear1.weight 8+4+4, linear2.weight, linear3.weight 8+8+8, linear4.weight, linear5.weight 5+5, "
            "linear6.weight, linear7.weight output");
  EXPECT_EQ(matrices_of("embedding 8; residual(linear 8; residual(gelu); gated silu; linear 8); tied_output", 9),
            "linear1.weight, linear2.weight")
      << "a sum is not the output of one matrix";
}

double flops_of(const std::string& specification, ImageShape input, int classes) {
  return training_flops_per_token(build_graph(specification, input, classes));
}

// Blocks of GPT-2 have 12 width² weights: 3 for queries, keys and values, 1 for their output, and 8 in the two layers
// behind. The output multiplies by the table of tokens. Positions are only looked up.
TEST(TrainingFlops, are_those_of_palm_for_models_of_published_sizes) {
  const double vocabulary = 256, width = 128, layers = 4, positions = 64;
  const double weights = layers * 12 * width * width + vocabulary * width;
  EXPECT_EQ(flops_of(model_specification("nanogpt-cpu"), {64, 1, 1}, 256),
            6 * weights + 12 * layers * width * positions);
  const double of_gpt2 = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
  EXPECT_EQ(flops_of(model_specification("gpt2"), {1024, 1, 1}, 50257), 6 * of_gpt2 + 12.0 * 12 * 768 * 1024);
}

TEST(TrainingFlops, count_groups_and_gates) {
  // llama-tiny: 8 heads of width 8, 4 groups; queries, keys and values are 64 + 2 × 32 wide.
  const double block = 64 * 128 + 64 * 64 + 64 * 344 + 172 * 64;
  EXPECT_EQ(flops_of(model_specification("llama-tiny"), {32, 1, 1}, 512),
            6 * (5 * block + 512 * 64) + 12.0 * 5 * 64 * 32);
}

TEST(TrainingFlops, leave_out_a_table_that_is_only_looked_up) {
  EXPECT_EQ(flops_of("embedding 8; linear classes", {4, 1, 1}, 10), 6.0 * 8 * 10);
}

}  // namespace
}  // namespace eave
