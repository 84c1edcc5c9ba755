// Autotuning on a real or emulated GPU: StreamTimer times candidates and survives those that fail.
#include "device/cuda/plans/autotune.h"

#include <gtest/gtest.h>

#include "../cuda_kernels/on_device.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 22;

TEST(Autotune, finds_the_fastest_and_passes_over_what_fails) {
  const TestStream stream;
  const TemporaryMemory memory(kBytes, stream);
  const auto clear = [&](int times) {
    for (int i = 0; i < times; ++i) EAVE_CUDA(cudaMemsetAsync(memory.at(0), 0, kBytes, stream));
  };
  StreamTimer timer(stream, [&](std::size_t candidate) {
    if (candidate == 0) throw Error(ExitCode::kResource, "refused");
    clear(candidate == 2 ? 1 : 100);  // so that the others take longer even if this one waits for a processor
  });
  EXPECT_EQ(find_fastest(4, timer).candidate, 2u);
}

TEST(Autotune, leaves_the_stream_usable_where_a_candidate_fails_while_it_is_recorded) {
  const TestStream stream;
  const TemporaryMemory memory(kBytes, stream);
  int calls = 0;
  StreamTimer timer(stream, [&](std::size_t candidate) {
    EAVE_CUDA(cudaMemsetAsync(memory.at(0), 0, kBytes, stream));
    if (candidate == 0 && ++calls > 2) throw Error(ExitCode::kResource, "refused later");
  });
  EXPECT_GT(timer.time_once(0), 0);
  EXPECT_THROW(timer.time_replays(0, 3), Error);
  EXPECT_GT(timer.time_replays(1, 3), 0);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

}  // namespace
}  // namespace eave::cuda
