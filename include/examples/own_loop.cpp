// A training loop outside eave: c++ -std=c++20 -O2 own_loop.cpp $(pkg-config --cflags --libs eave) -o own_loop
// mpirun -np 4 ./own_loop easgd [gpu]      (gpu: all ranks use GPU 0. LD_LIBRARY_PATH may have to name libeave.so)
#include <cstdio>
#include <random>

#include "eave/communicator.h"
#include "eave/job.h"

void fit(eave::Transport& ranks, const eave::CommunicatorKind& method, eave::Device& device) {
  eave::OptionValues options;  // every option has its default; options.set("tau", "4", "own_loop") changes one
  for (const eave::OptionSpec& option : method.options) options.declare(option);
  const eave::Attachment attachment(ranks, device);
  eave::Buffer line = device.allocate(2), gradient = device.allocate(2);  // slope, height; outlive the communicator
  std::vector<std::string> warnings;  // for example: alpha is beyond the stability bound
  const auto communicator = eave::make_communicator(method, {ranks, options, 0.1, warnings});
  communicator->begin({line.slice(), gradient.slice(), {}, {}, &device});
  std::vector<float> on_host(2);  // the model computes in host memory, even if its parameters lie on a GPU
  std::mt19937 random(ranks.rank());
  for (int i = 0; i < 1000; ++i) {
    const eave::Step step{.index = i, .samples = 1, .samples_everywhere = ranks.size(), .learning_rate = 0.1};
    communicator->before_gradients(step);
    device.read(line.slice(), on_host);
    const float x = random() / 0x1p31f - 1, y = 3 * x + 2 + 0.1f * (random() / 0x1p31f - 1);  // with noise
    const float error = communicator->gradient_weight(step) * (on_host[0] * x + on_host[1] - y);
    device.write(gradient.slice(), std::vector<float>{error * x, error});
    const auto pull = communicator->before_update(step);  // waits if gradients are averaged over ranks
    const eave::SgdStep rule{.gradient_scale = communicator->updates(step) ? 1.0f : 0.0f, .step_scale = 0.1f};
    device.update_sgd(line.slice(), gradient.slice(), {}, rule, pull ? &*pull : nullptr);
    communicator->after_update(step);
  }
  device.read(communicator->consensus(), on_host);  // equal on all ranks, though each has seen other points
  std::printf("rank %d of %d: y = %.6f x + %.6f\n", ranks.rank(), ranks.size(), on_host[0], on_host[1]);
  communicator->finish();
}

int main(int argc, char** argv) {
  const auto& method = eave::find_kind(eave::communicator_kinds(), argc > 1 ? argv[1] : "allreduce");
  return eave::find_kind(eave::transport_kinds(), eave::started_by_launcher() ? "mpi" : "loopback")
      .run(0, [&](auto& ranks) { fit(ranks, method, argc > 2 ? *eave::gpu_device(0) : eave::cpu_device()); });
}
