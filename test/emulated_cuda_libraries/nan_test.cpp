// eave lets a library fuse relu into a convolution or product only if the library passes NaN through.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "../cuda_kernels/on_device.h"
#include "device/cuda/library_handles.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

class FusedRelu : public testing::Test {
 protected:
  FusedRelu() {
    context_.stream = stream_;
    context_.libraries = libraries_.get();
  }
  ~FusedRelu() override { unsetenv(kVariable); }

  static void drop_nan_by(const std::string& names) { setenv(kVariable, names.c_str(), 1); }
  std::shared_ptr<const CudnnPlan> convolution() {
    const ConvolutionShape shape = {2, {6, 5, 4}, {3, 3, 1, 1}, 7, true, true, 0};
    return LibraryHandles::of(context_).plan(context_, describe_operation(ConvolutionTask::kForward, shape, half()));
  }
  std::shared_ptr<const ProductPlan> product() {
    return LibraryHandles::of(context_).plan(context_, forward_product({6, 20, 10, true, true}, true, half()));
  }
  bool half() const { return context_.precision == Precision::kBf16; }

  static constexpr const char* kVariable = "EMULATED_NAN_DROPPED_BY";
  const TestStream stream_;
  const std::unique_ptr<Libraries> libraries_ = make_libraries(stream_);
  Context context_;
};

TEST_F(FusedRelu, is_the_librarys_where_nan_comes_through) {
  for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
    context_.precision = precision;
    EXPECT_TRUE(convolution()->operation().relu);
    EXPECT_FALSE(convolution()->is_deterministic()) << "the first engine is the best";
    EXPECT_TRUE(product()->product().relu);
    EXPECT_EQ(product()->workspace_bytes(), 1000) << "the first algorithm is the best";
  }
}

TEST_F(FusedRelu, is_taken_from_the_next_engine_where_the_best_drops_nan) {
  drop_nan_by("cudnn0,cublas0");
  for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
    context_.precision = precision;
    EXPECT_TRUE(convolution()->operation().relu);
    EXPECT_TRUE(convolution()->is_deterministic());
    EXPECT_TRUE(convolution()->uses_tensor_cores());
    EXPECT_TRUE(product()->product().relu);
    EXPECT_EQ(product()->workspace_bytes(), 0);
  }
}

TEST_F(FusedRelu, is_looked_for_among_engines_that_no_heuristic_names_first) {
  drop_nan_by("cudnn0,cudnn1");
  EXPECT_TRUE(convolution()->operation().relu);
  EXPECT_FALSE(convolution()->uses_tensor_cores());
}

TEST_F(FusedRelu, is_never_that_of_an_engine_which_is_faster_and_drops_nan) {
  context_.autotune = true;
  drop_nan_by("cudnn0,cublas0");
  EXPECT_TRUE(convolution()->is_deterministic());
  EXPECT_EQ(product()->workspace_bytes(), 0);
}

TEST_F(FusedRelu, is_done_apart_where_every_engine_drops_nan) {
  drop_nan_by("cudnn0,cudnn1,cudnn2,cublas0,cublas1");
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    context_.precision = precision;
    EXPECT_FALSE(convolution()->operation().relu);
    EXPECT_TRUE(convolution()->operation().bias);
    EXPECT_FALSE(product()->product().relu);
    EXPECT_TRUE(product()->product().bias);
  }
}

TEST_F(FusedRelu, is_done_apart_where_there_is_no_memory_for_a_trial) {
  setenv("EMULATED_CUDA_MEMORY", "1000", 1);
  EXPECT_FALSE(convolution()->operation().relu);
  context_.deterministic = true;  // the bits must not depend on the memory that is free
  EXPECT_THROW(convolution(), Error);
  unsetenv("EMULATED_CUDA_MEMORY");
}

}  // namespace
}  // namespace eave::cuda
