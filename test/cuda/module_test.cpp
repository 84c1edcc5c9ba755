// The CUDA module as the program sees it: it opens on any machine, and only it links the CUDA libraries.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "test/program/program.h"

namespace eave {
namespace {

TEST(CudaModule, opens_with_all_it_needs_whether_or_not_there_is_a_driver) {
  void* module = dlopen(EAVE_CUDA_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  dlclose(module);
}

TEST(CudaModule, needs_no_library_of_the_driver) {
  const Ended needs = Place().run("readelf -d '" EAVE_CUDA_MODULE "'");
  ASSERT_EQ(needs.code, 0) << needs.errors;
  EXPECT_NE(needs.output.find("[libcudnn.so"), std::string::npos) << needs.output;
  EXPECT_EQ(needs.output.find("[libcuda.so"), std::string::npos) << needs.output;
}

TEST(CudaModule, alone_carries_the_libraries_of_cuda) {
  const Ended needs = Place().run("readelf -d '" EAVE_PROGRAM "'");
  ASSERT_EQ(needs.code, 0) << needs.errors;
  for (const char* name : {"libcuda", "libcublas", "libcudnn", "libnccl", "libnvrtc"}) {
    EXPECT_EQ(needs.output.find(name), std::string::npos) << needs.output;
  }
}

// LD_DEBUG=files makes the loader print each file that it opens.
TEST(CudaModule, stays_closed_on_the_cpu) {
  const std::string words = "train" + std::string(kQuick) + "--max-steps 1 --device cpu";
  const Ended ended = Place().eave(words, {0, "LD_DEBUG=files"});
  ASSERT_EQ(ended.code, 0);
  EXPECT_TRUE(ended.says("libstdc++")) << "the loader wrote nothing";
  EXPECT_FALSE(ended.says("eave_cuda"));
}

}  // namespace
}  // namespace eave
