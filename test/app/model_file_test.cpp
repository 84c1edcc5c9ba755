// Tests model files that do not fit the model, that are damaged, or that somebody made to do harm.
#include "app/resume/model_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const char* const kText = "conv2d 2 3x3 no_bias; batch_norm; dense classes";
constexpr ImageShape kImage{3, 3, 1};

struct ModelFile : testing::Test {
  ModelFile() {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<float>(i);
  }

  // Reads the file and returns the error: its code and message.
  Error failure() const {
    return error_of([&] { read_model(read_safetensors(path), graph); });
  }
  void expect_failure(ExitCode code, const std::string& says) const {
    expect_error(code, says, [&] { read_model(read_safetensors(path), graph); });
  }
  void write_header(const std::string& header, std::size_t content_bytes) const {
    std::ofstream file(path, std::ios::binary);
    for (std::size_t byte = 0, length = header.size(); byte < 8; ++byte, length >>= 8)
      file.put(static_cast<char>(length & 0xff));
    file << header << std::string(content_bytes, '\0');
  }

  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "model.safetensors";
  const Graph graph = build_graph(kText, kImage, 2);
  std::vector<float> parameters = std::vector<float>(static_cast<std::size_t>(graph.parameter_size));
  std::vector<float> statistics = std::vector<float>(static_cast<std::size_t>(graph.statistics_size), 2);
};

TEST_F(ModelFile, is_read_back_from_either_layout) {
  for (const TensorLayout layout : {TensorLayout::kEave, TensorLayout::kPytorch}) {
    write_model(path, {kText, kImage, 2}, layout, parameters, statistics);
    const SafetensorsFile file = read_safetensors(path);
    const ModelDescription model = description_in(file);
    EXPECT_EQ(model.specification, kText);
    EXPECT_EQ(model.image, kImage);
    EXPECT_EQ(model.classes, 2);
    const ModelArenas arenas = read_model(file, graph);
    for (const TensorInfo& tensor : graph.parameters) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i)
        EXPECT_EQ(arenas.parameters[static_cast<std::size_t>(i)], static_cast<float>(i)) << tensor.name;
    }
    EXPECT_EQ(arenas.statistics[0], 2);
  }
}

TEST_F(ModelFile, is_read_into_a_model_that_exists_with_the_same_values_or_not_at_all) {
  for (const TensorLayout layout : {TensorLayout::kEave, TensorLayout::kPytorch}) {
    write_model(path, {kText, kImage, 2}, layout, parameters, statistics);
    const SafetensorsFile file = read_safetensors(path);
    const ModelArenas expected = read_model(file, graph);
    std::vector<float> first(parameters.size()), second(statistics.size());
    read_model_into(file, graph, first, second, "the remedy");
    EXPECT_EQ(first, expected.parameters);
    EXPECT_EQ(second, expected.statistics);
  }
  statistics.front() = std::numeric_limits<float>::infinity();
  write_model(path, {kText, kImage, 2}, TensorLayout::kEave, parameters, statistics);
  std::vector<float> first(parameters.size(), 7), second(statistics.size(), 7);
  expect_error(ExitCode::kBadData, "not finite",
               [&] { read_model_into(read_safetensors(path), graph, first, second, "the remedy"); });
  EXPECT_EQ(first, std::vector<float>(parameters.size(), 7));
}

TEST_F(ModelFile, says_what_pixels_become_and_keeps_it) {
  const std::vector<float> mean = {0.25F, 0.1F}, deviation = {0.3F, 1};
  const std::string input = text_of_input(mean, deviation);
  EXPECT_EQ(input, "(pixel / 255 - mean) / deviation; mean 0.25 0.1; deviation 0.3 1");
  write_model(path, {kText, kImage, 2, "", input}, TensorLayout::kPytorch, parameters, statistics);
  EXPECT_EQ(description_in(read_safetensors(path)).input, input);
}

std::string conventions(const std::string& text, ImageShape image, TensorLayout layout) {
  const Graph graph = build_graph(text, image, 2);
  const auto all = metadata_of({text, image, 2}, graph, layout);
  const auto found = all.find("conventions");
  return found == all.end() ? "" : found->second;
}

TEST(Conventions, stand_in_the_metadata_of_models_whose_layers_have_them) {
  const std::string shrinking = "conv2d 4 3x3 pad 1; residual(conv2d 8 3x3 pad 1 stride 2; batch_norm); dense classes";
  const std::string own = conventions(shrinking, {4, 4, 1}, TensorLayout::kEave);
  const std::string pytorch = conventions(shrinking, {4, 4, 1}, TensorLayout::kPytorch);
  for (const std::string& text : {own, pytorch}) {
    expect_parts(text, {"F.pad(x[:, :, ::S, ::S], (0, 0, 0, 0, n, n))", "cross-correlation", "1e-05"});
    EXPECT_EQ(text.find("dropout"), std::string::npos) << text;
  }
  expect_parts(own, {"* scale + shift", "height, width, channel"});
  expect_parts(pytorch, {"running_var + 1e-05) * weight + bias", "channel, height, width"});
}

TEST(Conventions, are_only_those_that_the_model_has) {
  EXPECT_EQ(conventions("dense 4; relu; dense classes", {1, 1, 3}, TensorLayout::kEave), "");
  const std::string text = conventions(
      "max_pool 3 stride 2 pad 1; average_pool 2; local_response_norm; dropout 0.5; "
      "residual(conv2d 3 3x3 pad 1); global_pool; dense classes",
      {8, 8, 3}, TensorLayout::kEave);
  expect_parts(text, {"max_pool: ", "\naverage_pool: ", "\nlocal_response_norm: ", "\ndropout P: "});
  for (const std::string line : {"F.pad", "batch_norm", "flattened"})
    EXPECT_EQ(text.find(line), std::string::npos) << text;
}

TEST_F(ModelFile, keeps_the_names_of_classes_where_there_are_any) {
  const std::string names = text_of_names({"cat", "\xc3\xa4 \"dog\""});
  EXPECT_EQ(names, R"(["cat","\u00e4 \"dog\""])");
  for (const std::string& text : {names, std::string()}) {
    write_model(path, {kText, kImage, 2, text}, TensorLayout::kPytorch, parameters, statistics);
    const SafetensorsFile file = read_safetensors(path);
    EXPECT_EQ(description_in(file).class_names, text);
    EXPECT_EQ(file.metadata.contains("class_names"), !text.empty());
  }
  EXPECT_EQ(text_of_names({}), "");
  EXPECT_EQ(text_of_names(std::vector<std::string>(300'000, "a")), "") << "the header would be too long to be read";
}

TEST_F(ModelFile, of_another_model_is_refused_by_the_array_that_differs) {
  const std::vector<std::pair<std::string, std::string>> others = {
      {"conv2d 2 3x3 no_bias; dense classes", "'bn1.scale' [2]"},
      {"conv2d 2 3x2 no_bias; batch_norm; dense classes", "'conv1.weight' is [3, 2, 1, 2], in the model [3, 3, 1, 2]"},
      {"conv2d 2 3x3 no_bias; batch_norm; dense 2; dense classes", "'dense2.bias', which the model has not"}};
  for (const auto& [text, says] : others) {
    const Graph other = build_graph(text, kImage, 2);
    const std::vector<float> values(static_cast<std::size_t>(other.parameter_size), 1.0F);
    write_model(path, {text, kImage, 2}, TensorLayout::kEave, values, values);
    expect_failure(ExitCode::kConfiguration, says);
  }
}

TEST_F(ModelFile, with_values_that_are_not_finite_is_damaged) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    statistics[1] = value;
    write_model(path, {kText, kImage, 2}, TensorLayout::kEave, parameters, statistics);
    expect_failure(ExitCode::kBadData, "'bn1.mean' has values that are not finite: the first is at index 1");
  }
}

TEST_F(ModelFile, whose_arrays_share_values_is_damaged) {
  std::string header = R"({"__metadata__":{"format":"eave"})";
  for (const StoredTensor& tensor : stored_tensors(graph, TensorLayout::kEave)) {
    std::string shape;
    for (const std::int64_t extent : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    header += ",\"" + tensor.name + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[0,)" +
              std::to_string(4 * tensor.size) + "]}";
  }
  write_header(header + "}", 4 * 18);  // as many bytes as the largest array
  expect_failure(ExitCode::kBadData, "lie over each other");
}

// PyTorch's batch norms count batches in whole numbers.
TEST_F(ModelFile, may_hold_arrays_of_other_types) {
  write_header(R"({"bn1.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8);
  EXPECT_TRUE(read_safetensors(path).arrays.empty());
  expect_failure(ExitCode::kConfiguration, "no float32 array 'conv1.weight' [3, 3, 1, 2], which the model has");
  write_header(R"({"conv1.weight":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8);
  expect_failure(ExitCode::kConfiguration, "there it is of type F64, and eave reads F32, BF16 and F16: write the file");
}

TEST_F(ModelFile, whose_names_are_others_shows_one_and_the_prefix_in_the_way) {
  write_header(R"({"module.conv1.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  expect_failure(ExitCode::kConfiguration,
                 "which the model has; its names begin with 'module.', as in 'module.conv1.weight': write the arrays "
                 "under the names without it");
  write_header(R"({"net.0.kernel":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  expect_failure(ExitCode::kConfiguration, "its names are others, such as 'net.0.kernel'; ");
}

TEST_F(ModelFile, that_pytorch_alone_can_read_is_named_in_its_folder) {
  const fs::path folder = directory.path() / "folder";
  fs::create_directory(folder);
  std::ofstream(folder / "pytorch_model.bin") << "x";
  expect_error(ExitCode::kInputMissing,
               "folder/model.safetensors; the folder has pytorch_model.bin, which PyTorch wrote: load the folder with "
               "from_pretrained of transformers and write it with save_pretrained",
               [&] { read_model_of(folder); });
}

TEST_F(ModelFile, that_says_no_image_or_classes_describes_no_model) {
  for (const char* metadata :
       {R"({"model":"dense 2"})", R"({"model":"dense 2","image":"3x3x1"})",
        R"({"model":"d","image":"3x3","classes":"2"})", R"({"model":"d","image":"3x3x1x1","classes":"2"})",
        R"({"model":"d","image":"-3x3x1","classes":"2"})", R"({"model":"d","image":"999999x3x1","classes":"2"})",
        R"({"model":"d","image":"3x3x1","classes":"0"})"}) {
    write_header(R"({"__metadata__":)" + std::string(metadata) + "}", 0);
    EXPECT_EQ(error_of([&] { description_in(read_safetensors(path)); }).code(), ExitCode::kBadData) << metadata;
  }
}

TEST_F(ModelFile, cut_anywhere_or_with_a_bit_turned_in_its_header_never_reads_wrongly) {
  write_model(path, {kText, kImage, 2}, TensorLayout::kPytorch, parameters, statistics);
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end_of_header = whole.find("}}") + 2;
  for (std::size_t length = 0; length < whole.size(); length += 5) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    ASSERT_NE(failure().code(), ExitCode::kDone) << length;
  }
  for (std::size_t byte = 0; byte < end_of_header; ++byte) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << byte % 7));
    std::ofstream(path, std::ios::binary) << damaged;
    const ExitCode code = failure().code();  // a changed word of the metadata does no harm
    ASSERT_TRUE(code == ExitCode::kDone || code == ExitCode::kBadData || code == ExitCode::kConfiguration) << byte;
  }
}

}  // namespace
}  // namespace eave
