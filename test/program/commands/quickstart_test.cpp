// If Fashion-MNIST cannot be downloaded, mpi_launch/quickstart trains on built-in digits and promises 88 % with each
// communicator. This test trains a fifth of its epochs with its settings. test/check_quickstart runs a whole
// quickstart.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

class Quickstart : public testing::TestWithParam<std::string> {};

TEST_P(Quickstart, learns_the_built_in_digits_well_enough_in_its_first_epoch) {
  const Place place;
  const std::string words =
      "train --data synthetic --model mlp --epochs 1 --batch 64 --lr 0.05 --lr-schedule cosine "
      "--seed 1 --progress off --run-dir run --communicator " +
      GetParam();
  expect_end(0, has_mpirun() ? place.eave(words, {2}) : place.eave(words + " --transport threads --ranks 2"));
  const auto summary = json_in(place, "run/summary.json");
  EXPECT_GE(summary.at("test_accuracy").get<double>(), 0.88);
}

INSTANTIATE_TEST_SUITE_P(With, Quickstart, testing::Values("allreduce", "easgd"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace eave
