#include "device/cuda/autotune.h"

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
  const std::size_t best = find_fastest(stream, 4, [&](std::size_t candidate) {
    if (candidate == 0) throw Error(ExitCode::kResource, "refused");
    clear(candidate == 2 ? 1 : 16);
  });
  EXPECT_EQ(best, 2u);
}

TEST(Autotune, leaves_the_stream_usable_where_a_candidate_fails_while_it_is_recorded) {
  const TestStream stream;
  const TemporaryMemory memory(kBytes, stream);
  int calls = 0;
  const std::size_t best = find_fastest(stream, 2, [&](std::size_t candidate) {
    EAVE_CUDA(cudaMemsetAsync(memory.at(0), 0, kBytes, stream));
    if (candidate == 0 && ++calls > 3) throw Error(ExitCode::kResource, "refused later");
  });
  EXPECT_EQ(best, 1u);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(Autotune, runs_nothing_where_there_is_no_choice) {
  const TestStream stream;
  EXPECT_EQ(find_fastest(stream, 1, [](std::size_t) { FAIL() << "one candidate needs no time"; }), 0u);
}

}  // namespace
}  // namespace eave::cuda
