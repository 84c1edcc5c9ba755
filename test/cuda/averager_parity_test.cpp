// With every communicator, an Averager on vectors in GPU memory gives the results of one on vectors in host memory.
#include "c/averager.h"
#include "eave/agreement.h"
#include "eave/job.h"
#include "test/c/averager_loop.h"
#include "test/communicator/every_communicator.h"
#include "test/cuda/gpu.h"
#include "test/train/training.h"

namespace eave {
namespace {

void on_threads(int ranks, const std::function<void(Transport&)>& body) {
  EXPECT_EQ(find_kind(transport_kinds(), "threads").run(ranks, body), 0);
}

class AveragersOnGpu : public OnGpu, public testing::WithParamInterface<std::string> {};

TEST_P(AveragersOnGpu, end_where_those_on_the_host_end) {
  const bool alone = find_kind(communicator_kinds(), GetParam()).traits.only_one_rank;
  on_threads(alone ? 1 : 2, [&](Transport& transport) {
    const Given given = frequent_exchanges(GetParam(), transport.size());
    const LoopEnded here = run_averager_loop(transport, cpu_device(), averager_options(GetParam(), given));
    const std::unique_ptr<Device> gpu = module_->open_device(0);
    const LoopEnded there =
        run_averager_loop(transport, *gpu, averager_options(GetParam(), given, " device=cuda gpu=0"));
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
  // Rank 0 has its vectors in GPU memory, rank 1 in host memory. Both must refuse with a message that holds `words`.
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

TEST_F(OnGpu, ranks_with_averagers_on_one_gpu_are_named) {
  std::vector<std::string> warnings;  // of rank 0
  on_threads(2, [&](Transport& transport) {
    const std::unique_ptr<Device> gpu = module_->open_device(0);
    Buffer x = gpu->allocate(3), g = gpu->allocate(3);
    gpu->wait();
    const AveragerJob job{.warn = [&](const std::string& text) { warnings.push_back(text); }};
    Averager(transport, "device=cuda", x.slice(), g.slice(), job).finish();
  });
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].find("ranks 0, 1 on "), 0u) << warnings[0];
  EXPECT_NE(warnings[0].find(" share one GPU, cuda:0 "), std::string::npos) << warnings[0];
}

TEST_F(RefusedOnGpu, a_second_one_while_the_first_is_open) {
  on_threads(2, [&](Transport& transport) {
    const std::unique_ptr<Device> gpu = module_->open_device(0);
    Buffer x = gpu->allocate(3), g = gpu->allocate(3);
    gpu->fill(x.slice(), 0);
    gpu->fill(g.slice(), 0);
    gpu->wait();
    for (int turn = 0; turn < 2; ++turn) {
      Averager first(transport, "device=cuda", x.slice(), g.slice());
      EXPECT_THROW(Averager(transport, "device=cuda", x.slice(), g.slice()), AgreedError);
      first.finish();
    }
  });
}

}  // namespace
}  // namespace eave
