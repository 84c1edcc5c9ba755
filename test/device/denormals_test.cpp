// Compute threads treat denormal numbers as zero.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "eave/compute.h"

namespace eave {
namespace {

// volatile, so that the compiler cannot compute the results at compile time.
volatile float smallest_normal = 1.17549435e-38f, denormal = 1e-40f, half = 0.5f, large = 1e10f;

// All processors must flush denormals. Otherwise the loss would depend on the machine, and on some machines the speed
// too.
TEST(PrepareComputeThread, makes_denormal_operands_and_results_zero_in_each_of_its_threads) {
  constexpr int kThreads = 2;
  std::array<bool, kThreads> flushes{};
  std::thread([&] {
    prepare_compute_thread(kThreads);
#pragma omp parallel for num_threads(kThreads) schedule(static, 1)
    for (int i = 0; i < kThreads; ++i) {
      flushes[static_cast<std::size_t>(i)] = smallest_normal * half == 0 && denormal * large == 0;
    }
  }).join();
  for (const bool each : flushes) EXPECT_TRUE(each);
}

}  // namespace
}  // namespace eave
