// token_steps MODEL POSITIONS VOCABULARY SAMPLES STEPS OPTIMIZER FILE: trains a model of text on one random batch, and
// writes what test/nn/pytorch_tokens_test compares with PyTorch. FILE gets a line of JSON and then float32 values: each
// tensor (PyTorch's layout) before training, the tokens, the labels, the logits before training, the loss of each step,
// and each tensor after training.
#include <fstream>
#include <nlohmann/json.hpp>

#include "eave/check.h"
#include "eave/optimizer.h"
#include "nn/step_plan.h"
#include "nn/tensor_layout.h"
#include "token_batch.h"

namespace eave {
namespace {

constexpr double kLearningRate = 1e-3;

class Output {
 public:
  Output(const char* path, const nlohmann::json& header) : file_(path, std::ios::binary) {
    file_ << header.dump() << "\n";
  }
  void add(const std::vector<float>& values) {
    file_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  void add(const std::vector<StoredTensor>& tensors, ConstSlice arena) {
    for (const StoredTensor& tensor : tensors) add(gather(tensor, arena));
  }

 private:
  std::ofstream file_;
};

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Model& model) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name != name) continue;
    OptionValues values;
    for (const OptionSpec& option : kind.options) values.declare(option);
    values.set("weight-decay", "0.1", "test");
    // Larger than usual: the gradient of a key's bias is 0, and its rounding errors must not become steps.
    values.set("adam-epsilon", "1e-5", "test");
    return kind.make({values, model.parameter_size(), cpu_device(), model.parameters()});
  }
  throw Error(ExitCode::kInternal, "this build has no " + name);
}

std::vector<float> logits_of(const Graph& graph, const TestModel& test, const Batch& batch) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  StepPlan plan(graph, *compute, batch.samples, false);
  std::vector<float> arena(static_cast<std::size_t>(plan.arena_size()));
  const ConstSlice inputs = compute->begin_pass({}, {batch, 0, 0});
  const ConstSlice logits = plan.forward({inputs, test.parameters, {}, {}, arena});
  return {logits.begin(), logits.end()};
}

void write(const std::string& model, const TokenBatch& data, int positions, int vocabulary, int steps,
           const std::string& rule, const char* path) {
  const std::string text = model_specification(model);
  const ImageShape input{positions, 1, 1};
  const Graph graph = build_graph(text, input, vocabulary);
  TestModel test(text, input, vocabulary, data.batch.samples);
  nlohmann::json header = {{"tensors", nlohmann::json::array()}};
  const std::vector<StoredTensor> tensors = stored_tensors(graph, TensorLayout::kPytorch);
  for (const StoredTensor& tensor : tensors) header["tensors"].push_back({tensor.name, tensor.shape});
  header["samples"] = data.batch.samples;
  header["positions"] = positions;
  header["vocabulary"] = vocabulary;
  header["steps"] = steps;
  header["optimizer"] = rule;
  Output output(path, header);
  output.add(tensors, test.parameters);
  output.add(data.inputs);
  output.add({data.labels.begin(), data.labels.end()});
  output.add(logits_of(graph, test, data.batch));
  const auto optimizer = make_optimizer(rule, test.model);
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const Score score = test.train(data.batch);
    losses.push_back(static_cast<float>(score.loss_sum / static_cast<double>(data.labels.size())));
    optimizer->update(test.parameters, test.gradients, kLearningRate, std::nullopt);
  }
  output.add(losses);
  output.add(tensors, test.parameters);
}

}  // namespace
}  // namespace eave

int main(int count, char** words) {
  if (count != 8) return 64;
  const int positions = std::atoi(words[2]), vocabulary = std::atoi(words[3]);
  const eave::TokenBatch data(positions, vocabulary, std::atoi(words[4]));
  eave::write(words[1], data, positions, vocabulary, std::atoi(words[5]), words[6], words[7]);
}
