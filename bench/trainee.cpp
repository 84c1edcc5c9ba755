#include "bench/trainee.h"

#include <array>
#include <map>
#include <numeric>

#include "eave/check.h"
#include "eave/random.h"
#include "nn/specification.h"

namespace eave::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kLearningRate = 1e-3;

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const std::string& option, const std::string& value,
                                          std::int64_t arena_size, Device& device) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name != name) continue;
    OptionValues values;
    for (const OptionSpec& spec : kind.options) values.declare(spec);
    values.set(option, value, "bench");
    return kind.make({values, arena_size, device});
  }
  throw Error(ExitCode::kInternal, "this build has no " + name);
}

std::unique_ptr<Optimizer> optimizer_for(const std::string& model, std::int64_t arena_size, Device& device) {
  return model_reads_tokens(model) ? make_optimizer("adamw", "weight-decay", "0.1", arena_size, device)
                                   : make_momentum_sgd(arena_size, device);
}

}  // namespace

std::unique_ptr<Optimizer> make_momentum_sgd(std::int64_t arena_size, Device& device) {
  return make_optimizer("sgd", "momentum", "0.9", arena_size, device);
}

Trainee::Task Trainee::task_of(const std::string& model) {
  static const std::map<std::string, Task> tasks = {{"mlp", {{28, 28, 1}}},
                                                    {"lenet", {{28, 28, 1}}},
                                                    {"cifar7", {{28, 28, 3}}},
                                                    {"tf-cifar10", {{24, 24, 3}}},
                                                    {"cnn7", {{32, 32, 3}}},
                                                    {"resnet18", {{224, 224, 3}, 1000}},
                                                    {"resnet20", {{32, 32, 3}}},
                                                    {"resnet50", {{224, 224, 3}, 1000}},
                                                    {"nanogpt-cpu", {{64, 1, 1}, 65}},
                                                    {"nanogpt-char", {{256, 1, 1}, 65}},
                                                    {"gpt2", {{256, 1, 1}, 50257}},
                                                    {"llama-tiny", {{64, 1, 1}, 512}}};
  const auto found = tasks.find(model);
  if (found != tasks.end()) return found->second;
  std::string names;
  for (const auto& [name, task] : tasks) names += (names.empty() ? "" : ", ") + name;
  throw Error(ExitCode::kUsage, "no model '" + model + "' here; there are " + names);
}

Trainee::Trainee(const std::string& name, std::int64_t batch, Compute& compute)
    : task_(task_of(name)),
      compute_(compute),
      device_(compute.device()),
      model_(model_specification(name), task_.shape, task_.classes, batch, compute),
      optimizer_(optimizer_for(name, model_.parameter_size(), device_)),
      parameters_(device_.allocate(static_cast<std::size_t>(model_.parameter_size()))),
      gradients_(device_.allocate(static_cast<std::size_t>(model_.parameter_size()))),
      statistics_(device_.allocate(static_cast<std::size_t>(model_.statistics_size()))),
      labels_(static_cast<std::size_t>(batch * model_.targets())),
      indices_(static_cast<std::size_t>(batch)) {
  std::vector<float> parameters(parameters_.size()), statistics(statistics_.size());
  model_.initialise(kSeed, parameters, statistics);
  device_.write(parameters_.slice(), parameters);
  device_.write(statistics_.slice(), statistics);
  RandomStream random({kSeed, Purpose::kTest}, 0);
  for (std::int32_t& label : labels_) {
    label = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(task_.classes)));
  }
  std::iota(indices_.begin(), indices_.end(), std::int64_t{0});
  model_reads_tokens(name) ? make_tokens() : load_images();
}

// Random tokens in place of images.
void Trainee::make_tokens() {
  RandomStream random({kSeed, Purpose::kTest, 2}, 0);
  inputs_.resize(indices_.size() * static_cast<std::size_t>(task_.shape.size()));
  for (float& value : inputs_) {
    value = static_cast<float>(random.below(static_cast<std::uint32_t>(task_.classes)));
  }
}

void Trainee::load_images() {
  std::array<float, 256> table;  // mean 0.5, deviation 0.25
  for (std::size_t value = 0; value < table.size(); ++value) table[value] = static_cast<float>(value) / 63.75F - 2;
  const std::vector<std::array<float, 256>> tables(static_cast<std::size_t>(task_.shape.channels), table);
  ImagePlacing placing;
  placing.input = placing.output = task_.shape;
  placing.tables = tables;
  images_ = compute_.load_images(std::ssize(indices_), placing, [](std::int64_t index, std::span<std::uint8_t> pixels) {
    RandomStream random({kSeed, Purpose::kTest, 1}, static_cast<std::uint64_t>(index));
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  });
  if (images_ != nullptr) return;
  RandomStream random({kSeed, Purpose::kTest, 2}, 0);
  inputs_.resize(indices_.size() * static_cast<std::size_t>(task_.shape.size()));
  for (float& value : inputs_) value = random.uniform();
}

void Trainee::step() {
  const Batch batch{std::ssize(indices_), step_++, inputs_, labels_, indices_, images_.get(), model_.targets()};
  model_.train(batch, kSeed, parameters_.slice(), statistics_.slice(), gradients_.slice(), 1.0F, {});
  optimizer_->update(parameters_.slice(), gradients_.slice(), kLearningRate, std::nullopt);
}

}  // namespace eave::bench
