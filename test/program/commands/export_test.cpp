// Other programs read what `eave export` writes. Runs begin with models of other programs and of other runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/resume/model_file.h"
#include "eave/compute.h"
#include "nn/step_plan.h"
#include "test/nn/fixture.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

constexpr std::int64_t kImages = 6;

// Computes the logits of model.safetensors with eave's own layers in evaluation mode.
std::vector<float> logits_of(const std::filesystem::path& path, const std::vector<float>& images) {
  const SafetensorsFile file = read_safetensors(path);
  const ModelDescription model = description_in(file);
  const Graph graph = build_graph(model.specification, model.image, model.classes);
  const ModelArenas arenas = read_model(file, graph);
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  StepPlan plan(graph, *compute, kImages, false);
  std::vector<float> arena(static_cast<std::size_t>(plan.arena_size()));
  const std::vector<std::int32_t> labels(kImages);
  const std::vector<std::int64_t> indices(kImages);
  const PassKind kind{&plan, arenas.parameters.data(), arenas.statistics.data(), nullptr, arena.data(), 0, 0};
  const ConstSlice inputs = compute->begin_pass(kind, {{kImages, 0, images, labels, indices}, 0, 0});
  const ConstSlice logits = plan.forward({inputs, arenas.parameters, arenas.statistics, {}, arena});
  std::vector<float> result(logits.begin(), logits.end());
  compute->end_pass();
  return result;
}

std::vector<float> floats_in(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

void expect_same_logits(const std::vector<float>& theirs, const std::vector<float>& ours) {
  ASSERT_EQ(theirs.size(), ours.size());
  float largest = 0;
  for (const float logit : ours) largest = std::max(largest, std::abs(logit));
  EXPECT_GT(largest, 0.01F);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(theirs[i], ours[i], 1e-5F * largest) << i;
}

struct Trained {
  std::string model;
  ImageShape image;
  std::string shape() const {
    return std::to_string(image.height) + "x" + std::to_string(image.width) + "x" + std::to_string(image.channels);
  }
  std::string words() const {
    return " --data synthetic --synthetic-samples 96 --synthetic-test-samples 16 --synthetic-size " +
           std::to_string(image.height) + " --synthetic-channels " + std::to_string(image.channels) +
           " --batch 16 --progress off --model " + model + " ";
  }
};

// Returns images, and writes them to the file MODEL-images.
std::vector<float> write_images(const Place& place, const Trained& trained) {
  const TestBatch batch(trained.image, 10, kImages);
  place.write(trained.model + "-images",
              {reinterpret_cast<const char*>(batch.inputs.data()), batch.inputs.size() * sizeof(float)});
  return batch.inputs;
}

// Trains a few steps into a directory named after the model. Returns images as write_images does.
std::vector<float> train(const Place& place, const Trained& trained) {
  expect_end(0, place.eave("train" + trained.words() + "--epochs 1 --run-dir " + trained.model));
  return write_images(place, trained);
}

TEST(Export, as_npy_gives_numpy_the_same_logits_in_both_layouts) {
  const Place place;
  const std::string python = python_with(place, "numpy");
  if (python.empty()) GTEST_SKIP() << "no python3 here has NumPy; apt-get install python3-numpy";
  const Trained colour{"mlp", {9, 9, 3}};
  const std::vector<float> images = train(place, colour);
  const std::vector<float> logits = logits_of(place.path() / "mlp/model.safetensors", images);
  for (const std::string layout : {"pytorch", "eave"}) {
    expect_end(0, place.eave("export mlp --layout " + layout + " --npy " + layout));
    expect_end(0, place.run(python + " " + script("numpy_mlp.py") + " " + layout + " " + layout + " mlp-images " +
                            colour.shape() + " logits"));
    expect_same_logits(floats_in(place.read("logits")), logits);
  }
}

const std::vector<Trained>& trained_models() {
  static const std::vector<Trained> models = {
      {"mlp", {28, 28, 1}},  {"lenet", {28, 28, 1}},    {"cifar7", {28, 28, 3}},  {"tf-cifar10", {24, 24, 3}},
      {"cnn7", {32, 32, 3}}, {"resnet18", {64, 64, 3}}, {"resnet20", {32, 32, 3}}};
  return models;
}

const char* const kNoPytorch =
    "no python3 here has PyTorch; python3 bench/pytorch_environment.py brings it from PyPI (2.4 GB)";

// Compares PyTorch's logits of MODEL.safetensors for MODEL-images with eave's logits of MODEL/model.safetensors.
void expect_pytorch_agrees(const Place& place, const std::string& python) {
  std::string words;
  for (const auto& [model, image] : trained_models())
    words += " " + model + " " + model + ".safetensors " + model + "-images " + model + "-logits";
  expect_end(0, place.run(python + " " + script("pytorch_logits.py") + words));
  for (const auto& [model, image] : trained_models()) {
    SCOPED_TRACE(model);
    expect_same_logits(floats_in(place.read(model + "-logits")),
                       logits_of(place.path() / model / "model.safetensors", floats_in(place.read(model + "-images"))));
  }
}

TEST(Export, as_safetensors_gives_pytorch_the_same_logits) {
  const Place place;
  const std::string python = python_with(place, "torch");
  if (python.empty()) GTEST_SKIP() << kNoPytorch;
  for (const Trained& trained : trained_models()) {
    train(place, trained);
    expect_end(0, place.eave("export " + trained.model + " --safetensors " + trained.model + ".safetensors"));
  }
  expect_pytorch_agrees(place, python);
}

// The learning rate 1e-37 is so small that a step leaves PyTorch's parameters as they are, and only running statistics
// of batch norms change. The model is exported again, so that PyTorch reads what eave wrote.
TEST(InitialParameters, of_pytorch_give_eave_the_logits_that_it_has) {
  const Place place;
  const std::string python = python_with(place, "torch");
  if (python.empty()) GTEST_SKIP() << kNoPytorch;
  std::string words;
  for (const auto& [model, image] : trained_models()) words += " " + model + " " + model + ".safetensors";
  expect_end(0, place.run(python + " " + script("pytorch_logits.py") + " --initial" + words));
  for (const Trained& trained : trained_models()) {
    const std::string file = trained.model + ".safetensors";
    write_images(place, trained);
    expect_end(0, place.eave("train" + trained.words() + "--max-steps 1 --lr 1e-37 --initial-parameters " + file +
                             " --run-dir " + trained.model));
    std::filesystem::remove(place.path() / file);
    expect_end(0, place.eave("export " + trained.model + " --safetensors " + file));
  }
  expect_pytorch_agrees(place, python);
}

TEST(Export, there_and_back_leaves_every_byte) {
  const Place place;
  train(place, {"resnet20", {16, 16, 3}});
  expect_end(0, place.eave("export resnet20 --safetensors there"));
  expect_end(0, place.eave("export there --layout eave --safetensors back"));
  EXPECT_FALSE(place.read("there") == place.read("back"));
  EXPECT_TRUE(place.read("back") == place.read("resnet20/model.safetensors"));
}

// The learning rate 1e-37 is so small that a step leaves parameters as they are. So all ranks keep rank 0's, and the
// saved model has them bit for bit. Methods that average parameters are left out: a weighted mean of equal numbers
// rounds.
TEST(InitialParameters, are_those_of_every_rank_with_every_kind_of_method) {
  const Place place;
  expect_end(0, place.eave("train" + std::string(kQuick) + "--run-dir first"));
  const std::string seeded = "train" + std::string(kQuick) + "--seed 9 --lr 1e-37 --overwrite --run-dir run ";
  const std::string first = place.read("first/model.safetensors");
  const auto expect_first = [&](const Ended& ended) {
    expect_end(0, ended);
    EXPECT_TRUE(place.read("run/model.safetensors") == first);
    const auto summary = json_in(place, "run/summary.json");
    EXPECT_EQ(summary.at("evaluation").at("consensus_distance").at("max"), 0.0);
  };
  expect_end(0, place.eave("export first --safetensors pytorch"));
  for (const std::string file : {"first/model.safetensors", "pytorch"}) {
    const std::string words = seeded + "--initial-parameters " + file;
    for (const std::string method : {"allreduce", "easgd", "easgd-async", "gossip", "none"}) {
      SCOPED_TRACE(method + " with " + file);
      expect_first(place.eave(words + " --communicator " + method + " --transport threads --ranks 2"));
    }
    if (has_mpirun()) expect_first(place.eave(words, {2}));
  }
  expect_end(0, place.eave(seeded));
  EXPECT_FALSE(place.read("run/model.safetensors") == first);
}

// Each run sees the same first batch with the same parameters. So each run closes the same share of the gap between the
// running mean and the batch's mean.
TEST(InitialParameters, bring_the_batch_norm_statistics_with_them) {
  const Place place;
  const std::string words =
      "train" + std::string(kQuick) + "--model 'conv2d 4 3x3 no_bias; batch_norm; relu; dense classes' ";
  const std::string still = words + "--max-steps 1 --lr 1e-37 --initial-parameters ";
  const auto mean = [&](const std::string& run) {
    const SafetensorsFile file = read_safetensors(place.path() / run / "model.safetensors");
    const ConstSlice values = file.array("bn1.mean", 4);
    return std::vector<float>(values.begin(), values.end());
  };
  expect_end(0, place.eave(words + "--run-dir first"));
  expect_end(0, place.eave(still + "first/model.safetensors --run-dir second"));
  expect_end(0, place.eave(still + "second/model.safetensors --run-dir third"));
  const std::vector<float> first = mean("first"), second = mean("second"), third = mean("third");
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_NE(second[i], first[i]);
    EXPECT_NEAR(third[i] - second[i], 0.9F * (second[i] - first[i]), 1e-6F);
  }
}

TEST(InitialParameters, that_are_missing_damaged_or_of_another_model_end_all_ranks_before_training) {
  const Place place;
  expect_end(0, place.eave("train" + std::string(kQuick) + "--run-dir first"));
  const std::string bytes = place.read("first/model.safetensors");
  place.write("cut", bytes.substr(0, bytes.size() - 40));
  const std::string words = "train" + std::string(kQuick) + "--run-dir run --initial-parameters ";
  const std::string other = "first/model.safetensors --model 'flatten; dense 5; dense classes'";
  for (const std::string ranks : {"", " --transport threads --ranks 2", "mpirun"}) {
    if (ranks == "mpirun" && !has_mpirun()) continue;
    const auto eave = [&](const std::string& more) {
      return ranks == "mpirun" ? place.eave(words + more, {2}) : place.eave(words + more + ranks);
    };
    expect_end(66, eave("nowhere"), {"no file nowhere"});
    expect_end(65, eave("cut"), {"cut: "});
    expect_end(78, eave(other),
               {"first/model.safetensors: the array 'dense1.weight' is [64, 16], in the model [64, 5]"});
  }
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST(InitialParameters, are_a_setting_that_a_resumed_run_must_have_and_does_not_read_again) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--run-dir run ";
  expect_end(0, place.eave("train" + std::string(kQuick) + "--run-dir first"));
  std::filesystem::rename(place.path() / "first/model.safetensors", place.path() / "first.safetensors");
  const std::string begun = words + "--initial-parameters first.safetensors ";
  expect_end(0, place.eave(begun));
  expect_end(78, place.eave(words + "--resume --epochs 2"), {"--initial-parameters first.safetensors", "not set"});
  expect_end(78, place.eave(words + "--resume --epochs 2 --initial-parameters other"), {"now it is other"});
  std::filesystem::remove(place.path() / "first.safetensors");
  expect_end(0, place.eave(begun + "--resume --epochs 2"));
}

TEST(Export, refuses_what_it_cannot_read_or_write) {
  const Place place;
  expect_end(0, place.eave("train" + std::string(kQuick) + "--run-dir run"));
  place.write("taken", "mine");
  place.write("words", "no arrays here, only words");
  place.write("nameless", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  expect_end(64, place.eave("export"), {"no model given", "--npy DIR"});
  expect_end(64, place.eave("export --npy out"), {"no model given"});
  expect_end(64, place.eave("export run"), {"one of --npy DIR and --safetensors FILE"});
  expect_end(64, place.eave("export run --npy a --safetensors b"), {"expected one of"});
  expect_end(64, place.eave("export run --npy out --layout onnx"), {"--layout onnx", "pytorch, eave"});
  expect_end(66, place.eave("export nowhere --npy out"), {"no file nowhere"});
  expect_end(65, place.eave("export words --npy out"), {"words: "});
  expect_end(65, place.eave("export nameless --npy out"), {"nameless: says nothing of 'model'"});
  expect_end(65, place.eave("export run/checkpoint/step-000013/rank-0.state --npy out"), {"rank-0.state: "});
  expect_end(73, place.eave("export run --npy taken"), {"--npy taken is there already"});
  expect_end(73, place.eave("export run --safetensors taken"), {"--safetensors taken is there already"});
  expect_end(73, place.eave("export run --npy taken/below"), {"--npy taken/below cannot be created"});
  expect_end(73, place.eave("export run --safetensors nowhere/file"), {"nowhere/file"});
  EXPECT_EQ(place.read("taken"), "mine");
  // The metadata and the arrays of this file contradict each other, so the message may not advise an option.
  std::string other = place.read("run/model.safetensors");
  const std::size_t layer = other.find("dense 16");
  ASSERT_NE(layer, std::string::npos);
  place.write("other", other.replace(layer, 8, "dense 17"));
  const Ended ended = place.eave("export other --npy out");
  expect_end(78, ended, {"other: the array 'dense1.weight' is [64, 16], in the model [64, 17]", "get the file again"});
  EXPECT_FALSE(ended.says("--model")) << ended.errors;
  EXPECT_FALSE(std::filesystem::exists(place.path() / "out"));
}

}  // namespace
}  // namespace eave
