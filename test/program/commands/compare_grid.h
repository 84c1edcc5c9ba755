// The small grid of runs that tests of `eave compare` make.
#pragma once

#include <string>

namespace eave {

// Options that make each run small and quick.
inline const std::string kOfEachRun =
    "--data synthetic --synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 --epochs 1 "
    "--model \"conv2d 4 3x3 pad 1; relu; max_pool 2; flatten; dense 16; relu; dense classes\" ";

inline std::string grid(const std::string& more) {
  return "compare --communicators easgd:tau=2 --output all --batch 8 " + kOfEachRun + more;
}

}  // namespace eave
