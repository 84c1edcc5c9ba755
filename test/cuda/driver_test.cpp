// The program built for GPUs, with drivers that it cannot use. Each driver is a fake: a library of three functions.
#include <gtest/gtest.h>

#include <filesystem>

#include "test/program/program.h"

namespace eave {
namespace {

class BadDriver : public testing::Test {
 protected:
  Ended train(const std::string& words, const std::string& driver, int ranks = 0) const {
    return place_.eave("train" + std::string(kQuick) + "--max-steps 2 " + words,
                       {ranks, "LD_LIBRARY_PATH='" + folder_ + "' " + driver});
  }

  // Runs one process, four threads, and ranks under mpirun. All must refuse.
  void expect_refusal_by_all(const std::string& driver, const std::vector<std::string>& texts) const {
    std::vector<Ended> all = {train("--device cuda", driver),
                              train("--device cuda --transport threads --ranks 4", driver)};
    if (has_mpirun()) {
      for (const int ranks : {2, 4}) all.push_back(train("--device cuda", driver, ranks));
    }
    for (const Ended& ended : all) {
      SCOPED_TRACE(driver + "\n" + ended.errors);
      EXPECT_EQ(ended.code, 71);
      EXPECT_EQ(ended.messages().size(), 1u);
      EXPECT_EQ(ended.output, "") << "training began";
      for (const std::string& text : texts) EXPECT_TRUE(ended.says(text)) << text;
    }
  }

  const std::string folder_ = std::filesystem::path(EAVE_FAKE_DRIVER).parent_path().string();
  Place place_;
};

TEST_F(BadDriver, too_old_is_refused_with_the_oldest_that_serves) {
  const std::string oldest = EAVE_CUDA_MAJOR == 12 ? "525.60.13" : "driver 580";
  expect_refusal_by_all("FAKE_DRIVER_VERSION=11040", {"CUDA 11.4", oldest, "update the driver", "--device cpu"});
}

TEST_F(BadDriver, that_does_not_start_is_refused_with_what_to_do) {
  for (const int code : {1, 2, 3, 34, 46, 101, 304, 802, 803, 804, 805, 999}) {
    const std::string driver = "FAKE_DRIVER_INIT=" + std::to_string(code);
    const Ended ended = train("--device cuda", driver);
    EXPECT_EQ(ended.code, 71) << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
    EXPECT_TRUE(ended.says("error " + std::to_string(code))) << ended.errors;
  }
  expect_refusal_by_all("FAKE_DRIVER_INIT=802", {"error 802", "nvidia-fabricmanager", "--device cpu"});
}

TEST_F(BadDriver, that_shows_no_gpu_is_refused) {
  expect_refusal_by_all("FAKE_DRIVER_INIT=100 CUDA_VISIBLE_DEVICES=x", {"sees none", "CUDA_VISIBLE_DEVICES is 'x'"});
  expect_refusal_by_all("FAKE_DRIVER_GPUS=0", {"sees none", "--device cpu"});
}

TEST_F(BadDriver, that_was_cut_short_or_is_none_is_refused) {
  const auto use = [&](const std::string& make) {
    EXPECT_EQ(place_.run("mkdir -p driver; " + make).code, 0);
    return place_.eave("train" + std::string(kQuick) + "--device cuda", {0, "LD_LIBRARY_PATH=$PWD/driver"});
  };
  for (const std::string make : {"(head -c 1000 '" EAVE_FAKE_DRIVER "' >driver/libcuda.so.1)", "(>driver/libcuda.so.1)",
                                 "cp \"$(ldd '" EAVE_PROGRAM "' | awk '/libz.so/ {print $3}')\" driver/libcuda.so.1"}) {
    const Ended ended = use(make);
    SCOPED_TRACE(make + "\n" + ended.errors);
    EXPECT_EQ(ended.code, 71);
    EXPECT_EQ(ended.messages().size(), 1u);
    EXPECT_TRUE(ended.says("libcuda.so.1"));
    EXPECT_TRUE(ended.says("--device cpu"));
  }
}

TEST_F(BadDriver, leaves_auto_to_the_cpu_which_says_why) {
  for (const std::string driver : {"FAKE_DRIVER_INIT=803", "FAKE_DRIVER_VERSION=11040", "FAKE_DRIVER_GPUS=0"}) {
    const Ended ended = train("", driver);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_NE((ended.output + ended.errors).find("no GPU can be used"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace eave
