// A missing, old or broken NVIDIA driver is found before eave loads any CUDA library.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/cuda_errors.h"
#include "device/cuda_module.h"
#include "eave/check.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

bool has_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CudaAdvice, a_driver_runs_its_own_major_version_of_cuda_and_older_ones) {
  for (const int driver : {12000, 12040, 12080, 13000, 14000}) EXPECT_EQ(why_driver_is_too_old(driver, 12040), "");
  for (const int driver : {13000, 13020}) EXPECT_EQ(why_driver_is_too_old(driver, 13000), "");
  for (const int driver : {12040, 12090, 11040}) EXPECT_NE(why_driver_is_too_old(driver, 13000), "");
}

TEST(CudaAdvice, too_old_a_driver_is_told_with_the_one_that_is_needed) {
  const std::string old = why_driver_is_too_old(11040, 12040);
  for (const char* part : {"CUDA 11.4", "CUDA 12.4", "525.60.13", "update the driver"})
    EXPECT_TRUE(has_text(old, part)) << part << "\n" << old;
  EXPECT_FALSE(has_text(old, "build eave"));
  const std::string newer = why_driver_is_too_old(12040, 13000);
  for (const char* part : {"CUDA 12.4", "CUDA 13.0", "driver 580 or later", "--toolkit 12.4"})
    EXPECT_TRUE(has_text(newer, part)) << part << "\n" << newer;
}

TEST(CudaAdvice, the_release_is_the_kernel_modules_or_unknown) {
  const TemporaryDirectory place;
  std::ofstream(place.path() / "version") << "550.54.14\n";
  EXPECT_EQ(driver_release(place.path() / "version"), "550.54.14");
  EXPECT_EQ(driver_release(place.path() / "none"), "");
}

class CudaDriver : public testing::Test {
 protected:
  // The fake driver has the real one's soname, so a later dlopen of libcuda.so.1 finds it already loaded.
  void SetUp() override { ASSERT_NE(dlopen(EAVE_FAKE_DRIVER, RTLD_NOW), nullptr) << dlerror(); }
  void TearDown() override {
    for (const char* name : {"FAKE_DRIVER_VERSION", "FAKE_DRIVER_INIT", "FAKE_DRIVER_GPUS", "CUDA_VISIBLE_DEVICES"})
      unsetenv(name);
  }

  // The message with which eave refuses the driver; "" if it accepts it.
  static std::string refusal(int toolkit) {
    try {
      require_cuda_driver(toolkit);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kResource);
      EXPECT_TRUE(has_text(error.what(), "no GPU can be used: ")) << error.what();
      EXPECT_TRUE(has_text(error.what(), "or train with --device cpu")) << error.what();
      EXPECT_FALSE(has_text(error.what(), "\n")) << error.what();
      return error.what();
    }
  }
};

TEST_F(CudaDriver, that_starts_and_shows_a_gpu_serves) {
  EXPECT_EQ(refusal(13000), "");
  setenv("FAKE_DRIVER_VERSION", "12000", 1);
  EXPECT_EQ(refusal(12040), "");
}

TEST_F(CudaDriver, too_old_is_refused_before_it_is_started) {
  setenv("FAKE_DRIVER_VERSION", "12040", 1);
  setenv("FAKE_DRIVER_INIT", "999", 1);
  EXPECT_TRUE(has_text(refusal(13000), "580"));
}

TEST_F(CudaDriver, whatever_start_returns_is_told_with_its_number_and_what_to_do) {
  for (int code = 1; code < 1000; ++code) {
    if (code == 100) continue;
    setenv("FAKE_DRIVER_INIT", std::to_string(code).c_str(), 1);
    const std::string why = refusal(13000);
    EXPECT_TRUE(has_text(why, "error " + std::to_string(code) + "); ")) << why;
    EXPECT_FALSE(has_text(why, "?,")) << why;
  }
  const auto told = [](int code, const char* part) {
    setenv("FAKE_DRIVER_INIT", std::to_string(code).c_str(), 1);
    EXPECT_TRUE(has_text(refusal(13000), part)) << code << " " << refusal(13000);
  };
  told(34, "stub");
  told(36, "update the driver");
  told(46, "another process");
  told(802, "nvidia-fabricmanager");
  told(803, "restart");
  told(804, "cuda-compat");
  told(805, "MPS");
  told(999, "nvidia-smi");
}

TEST_F(CudaDriver, that_shows_no_gpu_tells_what_may_hide_it) {
  setenv("FAKE_DRIVER_GPUS", "0", 1);
  EXPECT_TRUE(has_text(refusal(13000), "sees none; nvidia-smi -L"));
  setenv("FAKE_DRIVER_INIT", "100", 1);
  for (const char* word : {"", "garbage", "MIG-", "7"}) {
    setenv("CUDA_VISIBLE_DEVICES", word, 1);
    EXPECT_TRUE(has_text(refusal(13000), "CUDA_VISIBLE_DEVICES is '" + std::string(word) + "'"));
  }
}

}  // namespace
}  // namespace eave
