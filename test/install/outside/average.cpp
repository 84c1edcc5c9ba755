// Three ranks, which are threads, average four numbers: with a transport alone, and with a communicator. The program
// uses only public headers.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "eave/communicator.h"
#include "eave/dataset.h"
#include "eave/job.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "eave/trainer.h"

namespace {

template <typename Kind>
const Kind& find(const std::vector<Kind>& kinds, std::string_view name) {
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error("libeave.so has no " + std::string(name));
}

void require_threes(const std::vector<float>& values) {
  if (std::ranges::count(values, 3.0f) != 4) throw std::runtime_error("the average of 0, 3 and 6 is not 3");
}

std::vector<float> numbers_of(int rank) { return std::vector<float>(4, static_cast<float>(3 * rank)); }

void average_by_transport(eave::Transport& transport) {
  std::vector<float> values = numbers_of(transport.rank());
  transport.all_reduce_sum(values).wait();
  for (float& value : values) value /= static_cast<float>(transport.size());
  require_threes(values);
}

void average_by_communicator(eave::Transport& transport) {
  const eave::CommunicatorKind& kind = find(eave::communicator_kinds(), "local-sgd");
  eave::OptionValues options;
  for (const eave::OptionSpec& option : kind.options) options.declare(option);
  options.set("tau", "1", "average.cpp");
  std::vector<float> parameters(4), gradients(4);
  std::vector<std::string> warnings;
  const auto communicator = kind.make({transport, options, 0.1, warnings});
  communicator->begin({parameters, gradients, {}});
  std::ranges::copy(numbers_of(transport.rank()), parameters.begin());  // stands in for the result of a step
  const eave::Step step{0, 1, transport.size(), 0.1};
  communicator->before_gradients(step);
  if (communicator->before_update(step)) throw std::runtime_error("local-sgd pulls");
  communicator->after_update(step);
  communicator->finish();
  require_threes(parameters);
}

}  // namespace

int main() {
  std::printf("%zu communicators, %zu datasets, %zu optimizers, %zu models\n", eave::communicator_kinds().size(),
              eave::dataset_kinds().size(), eave::optimizer_kinds().size(), eave::model_names().size());
  return find(eave::transport_kinds(), "threads").run(3, [](eave::Transport& transport) {
    average_by_transport(transport);
    average_by_communicator(transport);
    if (transport.rank() == 0) std::puts("averaged");
  });
}
