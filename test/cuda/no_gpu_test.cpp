// The program built for GPUs on a machine without one: it trains on the CPU and says so, or refuses and says why.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "test/program/program.h"

namespace eave {
namespace {

class WithoutGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
      dlclose(driver);
      GTEST_SKIP() << "there is a driver for GPUs here";
    }
  }

  // Runs one process, threads, and ranks under mpirun.
  std::vector<std::pair<std::string, Ended>> run_all(const std::string& words) const {
    const std::string command = "train" + std::string(kQuick) + words;
    std::vector<std::pair<std::string, Ended>> ended = {
        {"alone", place_.eave(command)}, {"threads", place_.eave(command + " --transport threads --ranks 2")}};
    if (has_mpirun()) ended.push_back({"mpirun", place_.eave(command, {2})});
    return ended;
  }

  Place place_;
};

TEST_F(WithoutGpu, auto_trains_on_the_cpu_and_says_why) {
  for (const std::string words : {"", "--device auto"}) {
    for (const auto& [how, ended] : run_all(words)) {
      SCOPED_TRACE(how + " " + words + "\n" + ended.output + ended.errors);
      EXPECT_EQ(ended.code, 0);
      const std::string said = ended.output + ended.errors;
      EXPECT_NE(said.find("device"), std::string::npos);
      EXPECT_NE(said.find("cpu"), std::string::npos);
      EXPECT_NE(said.find("driver"), std::string::npos);
    }
  }
}

// Without a GPU the CUDA libraries would waste 200 MB per rank. LD_DEBUG=files makes the loader print each file that it
// opens.
TEST_F(WithoutGpu, auto_opens_no_library_of_cuda) {
  const std::string words = "train" + std::string(kQuick) + "--max-steps 1 --device auto";
  const Ended ended = place_.eave(words, {0, "LD_DEBUG=files"});
  ASSERT_EQ(ended.code, 0);
  EXPECT_TRUE(ended.says("libstdc++")) << "the loader wrote nothing";
  EXPECT_FALSE(ended.says("libcublasLt"));
}

TEST_F(WithoutGpu, cpu_trains_and_gives_the_bits_of_auto) {
  const std::string words = "train" + std::string(kQuick) + "--seed 3 --run-dir ";
  ASSERT_EQ(place_.eave(words + "a --device auto").code, 0);
  ASSERT_EQ(place_.eave(words + "b --device cpu").code, 0);
  EXPECT_EQ(place_.read("a/model.safetensors"), place_.read("b/model.safetensors"));
}

TEST_F(WithoutGpu, cuda_is_refused_once_with_71_before_training) {
  for (const auto& [how, ended] : run_all("--device cuda")) {
    SCOPED_TRACE(how + "\n" + ended.output + ended.errors);
    EXPECT_EQ(ended.code, 71);
    EXPECT_EQ(ended.messages().size(), 1u);
    EXPECT_TRUE(ended.says("GPU"));
    EXPECT_TRUE(ended.says("driver"));
    EXPECT_TRUE(ended.says("--device cpu")) << "says what would be right";
    EXPECT_EQ(ended.output, "") << "training began";
  }
}

}  // namespace
}  // namespace eave
