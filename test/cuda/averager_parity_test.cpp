// An Averager over vectors in a GPU's memory against one over the same in the host's: every communicator.
#include "c/averager.h"
#include "test/communicator/brisk.h"
#include "test/communicator/worker.h"
#include "test/cuda/gpu.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr int kLoopSteps = 25;
const Problem kLoopProblem{.uneven = true};

struct LoopEnded {
  std::vector<float> parameters, consensus;
};

// Vectors of a loop, where its Averager is to find them; the loop itself computes on the host.
class Vectors {
 public:
  Vectors(Device& device, std::size_t size)
      : device_(device), memory_{device.allocate(size), device.allocate(size), device.allocate(size)} {}
  Slice parameters() { return memory_[0].slice(); }
  Slice gradients() { return memory_[1].slice(); }
  Slice consensus() { return memory_[2].slice(); }
  void put(Slice into, const std::vector<float>& values) {
    device_.write(into, values);
    device_.wait();
  }
  std::vector<float> get(ConstSlice from) {
    std::vector<float> values(from.size());
    device_.read(from, values);
    return values;
  }

 private:
  Device& device_;
  Buffer memory_[3];
};

std::string options_of(const std::string& communicator, int ranks, const std::string& more) {
  std::string text = "communicator=" + communicator + " lr=0.1 seed=3" + more;
  for (const auto& [name, value] : brisk(communicator, ranks)) text += " " + name + "=" + value;
  return text;
}

LoopEnded run_loop(Transport& transport, Device& device, const std::string& options) {
  const int rank = transport.rank();
  const WorkerLoss loss(kLoopProblem, rank);
  Vectors vectors(device, kLoopProblem.start().size());
  std::vector<float> start = kLoopProblem.start();
  for (float& value : start) value += static_cast<float>(rank);  // all begin with rank 0's
  vectors.put(vectors.parameters(), start);
  Averager averager(transport, options, vectors.parameters(), vectors.gradients());
  for (int t = 0; t < kLoopSteps; ++t) {
    const std::int64_t samples = kLoopProblem.samples(rank, t);
    averager.begin_step(samples, kLoopProblem.samples_everywhere(transport.size(), t), kLoopProblem.learning_rate);
    std::vector<float> x = vectors.get(vectors.parameters()), g(x.size());
    const Doubles gradient = loss.gradient({x.begin(), x.end()});
    for (std::size_t k = 0; k < x.size() && samples > 0; ++k) g[k] = static_cast<float>(gradient[k]);
    vectors.put(vectors.gradients(), g);
    if (averager.before_update(static_cast<double>(samples) * loss({x.begin(), x.end()}))) {
      x = vectors.get(vectors.parameters());
      g = vectors.get(vectors.gradients());
      for (std::size_t k = 0; k < x.size(); ++k) x[k] -= static_cast<float>(kLoopProblem.learning_rate) * g[k];
      vectors.put(vectors.parameters(), x);
    }
    averager.after_update();
  }
  averager.write_consensus(vectors.consensus());
  LoopEnded ended{vectors.get(vectors.parameters()), vectors.get(vectors.consensus())};
  averager.finish();
  return ended;
}

void on_threads(int ranks, const std::function<void(Transport&)>& body) {
  EXPECT_EQ(find_kind(transport_kinds(), "threads").run(ranks, body), 0);
}

class AveragersOnGpu : public OnGpu, public testing::WithParamInterface<std::string> {};

TEST_P(AveragersOnGpu, end_where_those_on_the_host_end) {
  const bool alone = find_kind(communicator_kinds(), GetParam()).traits.only_one_rank;
  on_threads(alone ? 1 : 2, [&](Transport& transport) {
    const LoopEnded here = run_loop(transport, cpu_device(), options_of(GetParam(), transport.size(), ""));
    const std::unique_ptr<Device> gpu = module_->open_device(0);
    const LoopEnded there = run_loop(transport, *gpu, options_of(GetParam(), transport.size(), " device=cuda gpu=0"));
    EXPECT_LT(relative_distance(there.parameters, here.parameters), 1e-5);
    EXPECT_LT(relative_distance(there.consensus, here.consensus), 1e-5);
  });
}

std::vector<std::string> all_methods() {
  std::vector<std::string> all;
  for (const CommunicatorKind& kind : communicator_kinds()) all.push_back(kind.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Communicators, AveragersOnGpu, testing::ValuesIn(all_methods()), in_identifiers);

class RefusedOnGpu : public OnGpu {
 protected:
  // Where the first rank has its vectors on the GPU, the second in the host's memory.
  void expect_refused(const std::string& options, const std::string& words) const {
    on_threads(2, [&](Transport& transport) {
      const std::unique_ptr<Device> gpu = module_->open_device(0);
      Buffer memory = transport.rank() == 0 ? gpu->allocate(3) : Buffer(3);
      const Slice x = memory.slice();
      try {
        const Averager averager(transport, options, x, x);
        ADD_FAILURE() << options << " was taken";
      } catch (const AgreedError& error) {
        EXPECT_EQ(error.code(), ExitCode::kUsage) << error.what();
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      }
    });
  }
};

TEST_F(RefusedOnGpu, vectors_that_lie_elsewhere_and_gpus_that_are_not_there) {
  expect_refused("device=cuda", "do not lie in the memory of cuda:0");
  expect_refused("device=cuda gpu=99", "gpu=99: this process sees");
  expect_refused("device=cuda gpu=4294967296", "gpu=4294967296: this process sees");
  expect_refused("gpu=0", "gpu=N has no effect without device=cuda");
}

TEST_F(RefusedOnGpu, a_second_one_while_the_first_is_open) {
  on_threads(2, [&](Transport& transport) {
    const std::unique_ptr<Device> gpu = module_->open_device(0);
    Buffer x = gpu->allocate(3), g = gpu->allocate(3);
    for (int turn = 0; turn < 2; ++turn) {
      Averager first(transport, "device=cuda", x.slice(), g.slice());
      EXPECT_THROW(Averager(transport, "device=cuda", x.slice(), g.slice()), AgreedError);
      first.finish();
    }
  });
}

}  // namespace
}  // namespace eave
