// Runs eave with the emulated CUDA module in place of the real one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/program/program.h"

namespace eave {

class OnEmulatedGpu : public testing::Test {
 protected:
  Ended train(const std::string& words, int ranks = 0, const std::string& environment = "") const {
    return place_.eave("train" + std::string(kQuick) + words,
                       {ranks, "LIBEAVE_CUDA='" EAVE_CUDA_MODULE "' " + environment});
  }

  // Expects exit code `code` and exactly one message, which contains all `texts`.
  void expect_refusal(const Ended& ended, int code, const std::vector<std::string>& texts) const {
    EXPECT_EQ(ended.code, code) << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
    for (const std::string& text : texts) EXPECT_TRUE(ended.says(text)) << text << "\n" << ended.errors;
  }

  Place place_;
};

}  // namespace eave
