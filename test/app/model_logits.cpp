// model_logits MODEL CONTEXT CLASSES FILE TOKENS OUT: reads weights of another program into a model of text, as
// --initial-parameters does. MODEL is as of --model. TOKENS holds int32 tokens of windows. OUT/logits gets the float32
// logits of a pass over each window, OUT/grown those of text that grows token by token, and OUT/model.safetensors the
// model in eave's layout.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "app/resume/huggingface_model.h"
#include "app/resume/model_file.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/compute.h"
#include "nn/growing_text.h"
#include "nn/step_plan.h"

namespace eave {
namespace {

std::vector<std::int32_t> tokens_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::int32_t> tokens(bytes.size() / 4);
  std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(tokens.data()));
  return tokens;
}

void write_floats(const std::filesystem::path& path, ConstSlice values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}

std::vector<float> whole_logits(const Graph& graph, ConstSlice parameters, const std::vector<std::int32_t>& tokens) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  const std::vector<float> inputs(tokens.begin(), tokens.end());
  Batch batch;
  batch.samples = std::ssize(tokens) / graph.input.height;
  batch.inputs = inputs;
  StepPlan plan(graph, *compute, batch.samples, false);
  std::vector<float> arena(static_cast<std::size_t>(plan.arena_size()));
  const ConstSlice logits = plan.forward({compute->begin_pass({}, {batch, 0, 0}), parameters, {}, {}, arena});
  return {logits.begin(), logits.end()};
}

std::vector<float> grown_logits(const Graph& graph, ConstSlice parameters, const std::vector<std::int32_t>& tokens,
                                int context) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  GrowingText text(graph, *compute, parameters, context);
  std::vector<float> all;
  for (const std::int32_t token : tokens) {
    if (text.size() == context) text.clear();
    const ConstSlice logits = text.append({&token, 1});
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

void run(char** words) {
  const std::string text = model_specification(model_text_of_option(words[1]));
  const int context = std::atoi(words[2]), classes = std::atoi(words[3]);
  const Graph graph = build_graph(text, {context, 1, 1}, classes);
  const ModelArenas model = read_model(read_model_of(words[4]), graph, "give the --model that the file is of");
  const std::vector<std::int32_t> tokens = tokens_of(words[5]);
  const std::filesystem::path out = words[6];
  write_floats(out / "logits", whole_logits(graph, model.parameters, tokens));
  write_floats(out / "grown", grown_logits(build_graph(text, {1, 1, 1}, classes), model.parameters, tokens, context));
  write_model(out / "model.safetensors", {text, {context, 1, 1}, classes}, TensorLayout::kEave, model.parameters, {});
}

}  // namespace
}  // namespace eave

int main(int count, char** words) {
  if (count != 7) return 64;
  try {
    eave::run(words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", eave::message_of(error).c_str());
    return 1;
  }
}
