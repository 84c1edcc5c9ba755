// Reads model.safetensors by its format alone, as another framework would.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "app/main/commands.h"
#include "eave/dataset.h"
#include "eave/loader.h"
#include "test/nn/fixture.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

struct ModelFile {
  explicit ModelFile(const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    const Json header = Json::parse(bytes.substr(8, length));
    std::map<std::uint64_t, std::uint64_t> extents;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      EXPECT_EQ(entry.at("dtype"), "F32");
      Tensor& tensor = tensors[name];
      tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
      const std::uint64_t begin = entry.at("data_offsets")[0], end = entry.at("data_offsets")[1];
      extents[begin] = end;
      tensor.values.resize((end - begin) / 4);
      std::memcpy(tensor.values.data(), bytes.data() + 8 + length + begin, end - begin);
      std::int64_t size = 1;
      for (std::int64_t extent : tensor.shape) size *= extent;
      EXPECT_EQ(size, std::ssize(tensor.values)) << name;
    }
    metadata = header.at("__metadata__");
    std::uint64_t at = 0;  // the format allows no gap between arrays and nothing after the last
    for (const auto& [begin, end] : extents) {
      EXPECT_EQ(begin, at);
      at = end;
    }
    EXPECT_EQ(8 + length + at, bytes.size());
  }
  std::map<std::string, Tensor> tensors;
  Json metadata;
};

TEST(ModelFile, names_and_shapes_every_parameter_and_statistic) {
  const Place place;
  expect_end(
      0, place.eave(
             "train" + std::string(kQuick) +
             "--model 'conv2d 4 3x5 no_bias; batch_norm; relu; flatten; dense 16; relu; dense classes' --run-dir run"));
  const ModelFile file(place.read("run/model.safetensors"));
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, tensor] : file.tensors) shapes[name] = tensor.shape;
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"conv1.weight", {3, 5, 1, 4}}, {"bn1.scale", {4}},          {"bn1.shift", {4}},    {"bn1.mean", {4}},
      {"bn1.variance", {4}},          {"dense1.weight", {96, 16}}, {"dense1.bias", {16}}, {"dense2.weight", {16, 10}},
      {"dense2.bias", {10}}};
  EXPECT_EQ(shapes, expected);
  expect_parts(file.metadata.at("layout").get<std::string>(), {"conv weights [height, width, in, out]"});
  EXPECT_EQ(file.metadata.at("model"),
            "conv2d 4 3x5 no_bias; batch_norm; relu; flatten; dense 16; relu; dense classes");
}

void fill(std::vector<float>& arena, const std::vector<TensorInfo>& tensors, const ModelFile& file) {
  for (const TensorInfo& tensor : tensors) {
    const std::vector<float>& values = file.tensors.at(tensor.name).values;
    std::copy(values.begin(), values.end(), arena.begin() + tensor.offset);
  }
}

// Scores the test set again, outside the program.
Score score(TestModel& replica, const OptionValues& values) {
  for (const DatasetKind& kind : dataset_kinds()) {
    if (kind.name != "synthetic") continue;
    const DataSplit data = kind.open(values);
    Score total;
    for_each_evaluation_batch(data, *data.test, {}, 0, data.test->size(), data.test->size(),
                              [&](const Batch& batch) { total = replica.evaluate(batch); });
    return total;
  }
  return {};
}

TEST(ModelFile, is_the_consensus_that_was_evaluated) {
  const Place place;
  const std::string data = "--data synthetic --synthetic-samples 600 --synthetic-test-samples 200 --synthetic-size 12 ";
  const std::string model = "conv2d 8 3x3 no_bias; batch_norm; relu; max_pool 2; flatten; dense classes";
  for (const auto& [communicator, statistics] : std::vector<std::pair<std::string, std::string>>{
           {"allreduce", "average"}, {"easgd", "average"}, {"easgd", "local"}, {"easgd", "recompute"}}) {
    expect_output(
        0,
        place.eave("train " + data + "--model '" + model + "' --epochs 6 --batch 8 --progress off --run-dir " +
                   communicator + " --overwrite --transport threads --ranks 2 --communicator " + communicator +
                   " --batch-norm-statistics " + statistics),
        {"batch norm     " + statistics + ": "});
    TestModel replica(model, {12, 12, 1}, 10, 8);
    const ModelFile file(place.read(communicator + "/model.safetensors"));
    fill(replica.parameters, replica.model.parameters(), file);
    fill(replica.statistics, replica.model.statistics(), file);
    const Score total =
        score(replica, train_command_line().parse({"--data", "synthetic", "--synthetic-samples", "600",
                                                   "--synthetic-test-samples", "200", "--synthetic-size", "12"},
                                                  nullptr));
    const Json center = json_in(place, communicator + "/summary.json").at("evaluation").at("center");
    EXPECT_EQ(static_cast<double>(total.correct) / 200, center.at("accuracy").get<double>());
    EXPECT_NEAR(total.loss_sum / 200, center.at("loss").get<double>(), 1e-5);  // another order of summation
    EXPECT_GT(center.at("accuracy").get<double>(), 0.3) << "learned";
  }
}

// The metadata holds what no array tells: the crop of the images, their normalisation, and where a shortcut puts its
// zero channels.
TEST(ModelFile, says_what_pixels_become_and_what_its_layers_compute) {
  const Place place;
  expect_end(
      0,
      place.eave(
          "train --data synthetic --synthetic-samples 16 --synthetic-test-samples 8 --synthetic-size 10 --crop 8 "
          "--batch 8 "
          "--epochs 1 --progress off --run-dir run --model 'conv2d 2 3x3 pad 1; residual(conv2d 4 3x3 pad 1 stride 2; "
          "batch_norm); global_pool; dense classes'"));
  const Json metadata = ModelFile(place.read("run/model.safetensors")).metadata;
  const std::string input = metadata.at("input"), conventions = metadata.at("conventions");
  EXPECT_TRUE(input.starts_with("the centre of 8x8 of 10x10 pixels; (pixel / 255 - mean) / deviation; mean 0."))
      << input;
  expect_parts(conventions, {"F.pad(x[:, :, ::S, ::S], (0, 0, 0, 0, n, n))"});
  const Json manifest = json_in(place, "run/checkpoint/step-000002/manifest.json");
  EXPECT_EQ(manifest.at("notes").at("input"), input);
  expect_end(0, place.eave("export run --npy arrays"));
  const Json exported = json_in(place, "arrays/metadata.json");
  EXPECT_EQ(exported.at("input"), input);
  EXPECT_EQ(exported.at("format"), "pt");
}

}  // namespace
}  // namespace eave
