// A model and a loop of one's own; what is averaged, and when, is eave's: a line is fitted by noisy points.
//     c++ -std=c++20 -O2 own_loop.cpp $(pkg-config --cflags --libs eave) -o own_loop
//     mpirun -np 4 ./own_loop easgd        with LD_LIBRARY_PATH where libeave.so is not in a usual place
#include <cstdio>
#include <random>

#include "eave/communicator.h"

void fit(eave::Transport& ranks, const std::string& method) {
  const eave::CommunicatorKind& kind = eave::find_kind(eave::communicator_kinds(), method);
  eave::OptionValues options;  // all at their defaults; options.set("tau", "4", "own_loop") changes one
  for (const eave::OptionSpec& option : kind.options) options.declare(option);
  std::vector<float> line(2), gradient(2);  // slope and height; they outlive the communicator, and stay where they are
  std::vector<std::string> warnings;
  const auto communicator = kind.make({ranks, options, 0.1, warnings});
  for (const std::string& warning : warnings) std::fprintf(stderr, "own_loop: warning: %s\n", warning.c_str());
  communicator->begin({line, gradient, {}});
  std::mt19937 random(ranks.rank());
  std::uniform_real_distribution<float> place(-1, 1), noise(-0.1f, 0.1f);
  for (int i = 0; i < 1000; ++i) {
    const eave::Step step{.index = i, .samples = 1, .samples_everywhere = ranks.size(), .learning_rate = 0.1};
    communicator->before_gradients(step);
    const float x = place(random), y = 3 * x + 2 + noise(random);
    const float error = communicator->gradient_weight(step) * (line[0] * x + line[1] - y);
    gradient[0] = error * x, gradient[1] = error;
    const auto pull = communicator->before_update(step);  // waits for the others' gradients, where they are averaged
    const eave::SgdStep rule{.gradient_scale = communicator->updates(step) ? 1.0f : 0.0f, .step_scale = 0.1f};
    eave::cpu_device().update_sgd(line, gradient, {}, rule, pull ? &*pull : nullptr);
    communicator->after_update(step);
  }
  const eave::ConstSlice found = communicator->consensus();  // the same on all ranks, whatever points each has seen
  std::printf("%s, rank %d of %d: y = %.6f x + %.6f\n", method.c_str(), ranks.rank(), ranks.size(), found[0], found[1]);
  communicator->finish();
}

int main(int argc, char** argv) {
  const auto& processes = eave::find_kind(eave::transport_kinds(), eave::started_by_launcher() ? "mpi" : "loopback");
  return processes.run(0, [&](eave::Transport& ranks) { fit(ranks, argc > 1 ? argv[1] : "allreduce"); });
}
