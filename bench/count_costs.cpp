// Runs the training steps, updates and exchanges whose instructions check_costs counts with valgrind's callgrind.
//
//   count_costs CASE...     runs these cases; without a case prints the list of cases as JSON
//
// Updates and exchanges run once to warm up and then once counted. Steps need no warm-up: the first one executes what
// the second one does, within 0.1 %, and callgrind takes long for each. Callgrind writes one dump per case, under the
// case's name, with the counts of all threads. Without callgrind the cases run and nothing is counted.
#include <dnnl.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/program.h"
#include "bench/trainee.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "eave/job.h"
#include "eave/transport.h"
#include "eave/update_steps.h"

namespace eave::bench {
namespace {

constexpr int kRanks = 2, kRounds = 4;
constexpr std::size_t kParameters = std::size_t{1} << 18;
constexpr double kLearningRate = 1e-3;

void count(const std::string& name, const std::function<void()>& body) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  body();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
}

void count_step(const std::string& name, const std::string& model, std::int64_t batch) {
  const auto compute = make_cpu_compute(1);
  Trainee trainee(model, batch, *compute);
  count(name, [&] { trainee.step(); });
}

void count_update(const std::string& name, bool elastic) {
  const auto optimizer = make_momentum_sgd(kParameters, cpu_device());
  Buffer parameters(kParameters), gradients(kParameters), center(kParameters), difference(kParameters);
  std::optional<Pull> pull;
  if (elastic) pull = Pull{center.slice(), 0.1F, difference.slice()};
  const auto update = [&] { optimizer->update(parameters.slice(), gradients.slice(), kLearningRate, pull); };
  update();
  count(name, update);
}

// A rank that exchanges after every step, without computing gradients.
class Exchanger {
 public:
  Exchanger(Transport& transport, const std::string& method)
      : optimizer_(make_momentum_sgd(kParameters, cpu_device())), parameters_(kParameters), gradients_(kParameters) {
    const CommunicatorKind& kind = find_kind(communicator_kinds(), method);
    OptionValues values;
    for (const OptionSpec& option : kind.options) values.declare(option);
    if (!kind.traits.averages_gradients) values.set("tau", "1", "bench");
    std::vector<std::string> warnings;
    communicator_ = kind.make({transport, values, kLearningRate, warnings});
    communicator_->begin({parameters_.slice(), gradients_.slice(), {}, optimizer_->state()});
  }

  void step() {
    Step step{next_++, 1, kRanks, kLearningRate, optimizer_->ahead(kLearningRate)};
    communicator_->before_gradients(step);
    if (communicator_->wants_gradients()) communicator_->gradient_ready(gradients_.slice());
    const std::optional<Pull> pull = communicator_->before_update(step);
    if (communicator_->updates(step)) {
      optimizer_->update(parameters_.slice(), gradients_.slice(), step.learning_rate, pull);
    }
    communicator_->after_update(step);
  }

  void settle() { communicator_->consensus(); }  // collective; afterwards no exchange is in flight
  void finish() { communicator_->finish(); }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  Buffer parameters_, gradients_;
  std::unique_ptr<Communicator> communicator_;
  std::int64_t next_ = 0;
};

void count_exchanges(const std::string& name, const std::string& method) {
  find_kind(transport_kinds(), "threads").run(kRanks, [&](Transport& transport) {
    Exchanger exchanger(transport, method);
    const auto round = [&] {
      transport.all_gather({});
      for (int i = 0; i < kRounds; ++i) exchanger.step();
      exchanger.settle();
      transport.all_gather({});
    };
    round();
    if (transport.rank() == 0) {
      count(name, round);
    } else {
      round();
    }
    exchanger.finish();
  });
}

const std::map<std::string, std::function<void(const std::string&)>>& cases() {
  static const std::map<std::string, std::function<void(const std::string&)>> all = {
      {"step-mlp-16", [](const std::string& name) { count_step(name, "mlp", 16); }},
      {"step-lenet-4", [](const std::string& name) { count_step(name, "lenet", 4); }},
      {"step-cifar7-4", [](const std::string& name) { count_step(name, "cifar7", 4); }},
      {"step-resnet20-1", [](const std::string& name) { count_step(name, "resnet20", 1); }},
      {"step-nanogpt-1", [](const std::string& name) { count_step(name, "nanogpt-cpu", 1); }},
      {"step-llama-1", [](const std::string& name) { count_step(name, "llama-tiny", 1); }},
      {"update-sgd", [](const std::string& name) { count_update(name, false); }},
      {"update-sgd-elastic", [](const std::string& name) { count_update(name, true); }},
      {"exchange-allreduce", [](const std::string& name) { count_exchanges(name, "allreduce"); }},
      {"exchange-easgd", [](const std::string& name) { count_exchanges(name, "easgd"); }},
      {"exchange-easgd-async", [](const std::string& name) { count_exchanges(name, "easgd-async"); }},
  };
  return all;
}

// Prints as JSON the toolchain, on which the counts depend, and the cases.
void describe() {
  const dnnl_version_t& onednn = *dnnl_version();
  std::printf(R"({"toolchain": "%s, oneDNN %d.%d", "cases": [)", EAVE_BENCH_COMPILER, onednn.major, onednn.minor);
  const char* separator = "";
  for (const auto& [name, run_case] : cases()) std::printf("%s\"%s\"", std::exchange(separator, ", "), name.c_str());
  std::puts("]}");
}

void run(const std::vector<std::string>& names) {
  if (names.empty()) return describe();
  for (const std::string& name : names) {
    if (!cases().contains(name)) throw Error(ExitCode::kUsage, "no case '" + name + "'; without a case all are listed");
  }
  for (const std::string& name : names) cases().at(name)(name);
}

}  // namespace
}  // namespace eave::bench

int main(int argc, char** argv) {
  return eave::bench::run_program("count_costs", [&] { eave::bench::run({argv + 1, argv + argc}); });
}
