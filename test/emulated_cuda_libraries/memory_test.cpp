// eave allocates and frees device memory only while nothing runs on the device. A driver may freeze if it does so while
// NCCL's kernels run.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/plans/matrix_products.h"
#include "device/cuda/resident_images.h"
#include "device/operations.h"
#include "eave/check.h"
#include "emulator.h"

namespace eave::cuda {
namespace {

class MemoryBesideExchanges : public testing::Test {
 protected:
  MemoryBesideExchanges() { device_.add_stream(exchanges_.get()); }
  ~MemoryBesideExchanges() override {
    device_.finish_all();
    device_.remove_stream(exchanges_.get());
  }

  // Calls `change` while two sums are in flight: one that the device's next work waits for, and one that nothing waits
  // for. Expects that no memory was allocated or freed beside them.
  void expect_undisturbed(const char* what, const std::function<void()>& change) {
    device_.finish_all();
    const long long before = emulated_cuda::memory_changes_beside_work();
    start_sum();
    EAVE_CUDA(cudaEventRecord(summed_.get(), exchanges_.get()));
    EAVE_CUDA(cudaStreamWaitEvent(device_.stream(), summed_.get(), 0));
    start_sum();
    change();
    EXPECT_EQ(emulated_cuda::memory_changes_beside_work(), before) << what;
  }

  static void pass(
      Compute& compute, std::int64_t samples, const std::function<void()>& calls = [] {}) {
    const auto count = static_cast<std::size_t>(samples);
    const std::vector<float> inputs(10 * count);
    const std::vector<std::int32_t> labels(count);
    const std::vector<std::int64_t> indices(count);
    const Batch batch{samples, 0, inputs, labels, indices};
    static float parameters[8];
    compute.begin_pass({.parameters = parameters, .parameter_size = samples, .variant = int(samples)}, {batch});
    calls();
    compute.end_pass();
  }

  CudaDevice device_{0};
  const Stream exchanges_ = make_stream();
  const Event summed_ = make_event();

 private:
  void start_sum() {
    EAVE_CUDA(emulated_cuda::enqueue(exchanges_.get(), [] {}));
  }
};

TEST_F(MemoryBesideExchanges, is_allocated_by_the_device_when_they_have_ended) {
  Buffer of_device, of_host;
  expect_undisturbed("allocate", [&] { of_device = device_.allocate(100); });
  expect_undisturbed("allocate_for_host", [&] { of_host = device_.allocate_for_host(100); });
  std::vector<std::shared_ptr<DeviceAnswer>> answers;
  expect_undisturbed("more answers than are in flight in training", [&] {
    for (int i = 0; i < 20; ++i) answers.push_back(device_.all_finite(of_device.slice()));
  });
}

TEST_F(MemoryBesideExchanges, is_allocated_for_passes_when_they_have_ended) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    std::unique_ptr<Compute> compute;
    Buffer values = device_.allocate(1000), arena = device_.allocate(1000);
    expect_undisturbed("a compute", [&] { compute = make_cuda_compute(device_, {.precision = precision}); });
    for (const std::int64_t samples : {2, 5, 3}) expect_undisturbed("a pass", [&] { pass(*compute, samples); });
    expect_undisturbed("a plan and its pass", [&] {
      const auto plan = compute->plan(FixedNormShape{4, 8});
      pass(*compute, 4, [&] {
        const Slice channels = values.slice().first(8);
        plan->forward({values.slice(),
                       {},
                       channels,
                       channels,
                       channels,
                       channels,
                       arena.slice().first(32),
                       arena.slice().subspan(32)});
      });
    });
    expect_undisturbed("another arena", [&] {
      compute->forget_passes();
      arena = Buffer();
      arena = device_.allocate(2000);
    });
    expect_undisturbed("the end", [&] { compute.reset(); });
  }
}

TEST_F(MemoryBesideExchanges, is_allocated_for_trials_of_plans_when_they_have_ended) {
  for (const bool autotune : {false, true}) {
    const auto compute = make_cuda_compute(device_, {.autotune = autotune});
    std::unique_ptr<LinearPlan> plan;
    expect_undisturbed("a convolution with relu", [&] {
      plan = compute->plan(ConvolutionShape{2, {6, 5, 4}, {3, 3, 1, 1}, 7, true, true, 0});
    });
    expect_undisturbed("a product with relu", [&] { plan = compute->plan(DenseShape{6, 20, 10, true, true}); });
  }
}

// Sets the memory of the emulated GPU to what is in use, and `bytes`.
void leave_free(CudaDevice& device, std::int64_t bytes) {
  const std::int64_t used = (std::int64_t{4} << 30) - device.free_bytes();
  setenv("EMULATED_CUDA_MEMORY", std::to_string(used + bytes).c_str(), 1);
}

// Ten images of four bytes may take half of the memory, but the table of a channel has 1024 bytes.
TEST(CudaDevice, leaves_images_in_host_memory_if_there_is_none_for_them) {
  CudaDevice device(0);
  std::array<float, 256> table{};
  const ImagePlacing placing{.input = {2, 2, 1}, .output = {2, 2, 1}, .tables = std::span(&table, 1)};
  const auto load = [&] { return load_resident_images(device, 10, placing, [](std::int64_t, auto) {}); };
  leave_free(device, 100);
  EXPECT_EQ(load(), nullptr);
  unsetenv("EMULATED_CUDA_MEMORY");
  EXPECT_NE(load(), nullptr);
}

TEST(CudaDevice, takes_no_product_whose_workspace_it_has_not) {
  CudaDevice device(0);
  Buffer memory = device.allocate(48);
  MatrixProducts products(device.stream(), [] {});
  const Slice all = memory.slice();
  const auto run = [&] {
    products.run({.rows = 4, .columns = 4, .inner = 4}, all.first(16), all.subspan(16, 16), all.subspan(32));
  };
  leave_free(device, 100);
  EXPECT_THROW(run(), Error);
  EXPECT_THROW(run(), Error) << "it knows the plan, and has no workspace";
  unsetenv("EMULATED_CUDA_MEMORY");
  run();
  device.wait();
}

// A driver may freeze if it allocates memory while NCCL runs.
TEST(CudaDevice, answers_of_steps_in_flight_take_no_new_memory) {
  CudaDevice device(0);
  Buffer parameters = device.allocate(100), gradients = device.allocate(100);
  std::vector<std::shared_ptr<DeviceAnswer>> answers;
  setenv("EMULATED_CUDA_FAIL", "cudaMallocHost:1:2,cudaMalloc:1:2", 1);
  for (int step = 0; step < 8; ++step)
    answers.push_back(device.update_sgd(parameters.slice(), gradients.slice(), {}, {.step_scale = 0.1f}, nullptr));
  for (const auto& answer : answers) EXPECT_TRUE(answer->get());
  unsetenv("EMULATED_CUDA_FAIL");
}

}  // namespace

}  // namespace eave::cuda
