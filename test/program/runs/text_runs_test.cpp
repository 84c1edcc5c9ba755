// Runs of a transformer on text: which of them leave the same model.
#include <gtest/gtest.h>

#include <filesystem>

#include "test/communicator/every_communicator.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

// One block with all that a transformer has: learned positions, heads that share keys, dropout, and an output that
// shares the table of tokens.
constexpr const char* kTransformer =
    "train --data text --data-dir texts --context 12 --model 'embedding 8 positions 12; dropout 0.1; "
    "residual(layer_norm; linear 16; rotary 2 groups 1; attention 2 groups 1; linear 8; dropout 0.1); "
    "residual(layer_norm; linear 24; gated silu; linear 8); rms_norm; tied_output' "
    "--lr 0.01 --progress off ";

constexpr const char* kAdamW = "--optimizer adamw ";

class TextRun : public testing::TestWithParam<std::string> {
 protected:
  // 1,100 bytes make 83 windows of 12 to train on, a prime number: the last step of an epoch has a smaller batch.
  TextRun() {
    std::filesystem::create_directory(place_.path() / "texts");
    std::string text;
    for (int line = 0; text.size() < 1100; ++line) text += "line " + std::to_string(line * line) + " has a square\n";
    place_.write("texts/one.txt", text.substr(0, 1100));
  }

  static std::string method(int ranks) {
    std::string words = "--communicator " + GetParam() + " --batch 8 ";
    if (find_kind(communicator_kinds(), GetParam()).traits.uses_optimizer) words += kAdamW;
    for (const auto& [name, text] : frequent_exchanges(GetParam(), ranks)) words += "--" + name + " " + text + " ";
    return words;
  }
  std::string model_of(const std::string& words, int mpirun_ranks = 0) const {
    expect_end(0, place_.eave(kTransformer + words + " --run-dir run --overwrite", {mpirun_ranks}));
    return place_.read("run/model.safetensors");
  }

  const Place place_;
};

const std::string kThreads = "--transport threads --ranks 2 --epochs 3 ";

TEST_P(TextRun, over_threads_and_under_mpirun_leaves_the_same_bits) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  EXPECT_EQ(model_of(method(2) + "--epochs 3", 2), model_of(method(2) + kThreads));
}

// An epoch has six steps. The checkpoint after step 10 lies in the middle of an epoch and of an exchange period.
TEST_P(TextRun, resumed_in_the_middle_of_anything_leaves_the_bits_of_the_uninterrupted) {
  const std::string words = method(2) + kThreads, whole = model_of(words);
  model_of(words + "--evaluate-every 0 --max-steps 13 --checkpoint-every 5");
  std::filesystem::remove_all(place_.path() / "run/checkpoint/step-000013");
  expect_end(0, place_.eave(kTransformer + words + "--run-dir run --resume"));
  EXPECT_EQ(place_.read("run/model.safetensors"), whole);
}

INSTANTIATE_TEST_SUITE_P(With, TextRun, testing::ValuesIn(communicator_names(2)),
                         [](const auto& each) { return identifier(each.param); });

class ReproducibleText : public TextRun {};

TEST_P(ReproducibleText, leaves_the_same_bits_on_1_2_4_and_8_ranks) {
  const std::string words =
      kAdamW + std::string("--communicator allreduce --batch 16 --batch-means total --reproducible --epochs 2 ");
  const std::string one = model_of(words);
  for (const char* ranks : {"2", "4", "8"}) {
    EXPECT_EQ(model_of(words + "--transport threads --ranks " + ranks), one) << ranks << " ranks";
  }
  if (!has_mpirun()) return;
  EXPECT_EQ(model_of(words, 2), one);
}

TEST_P(ReproducibleText, resumed_on_more_ranks_leaves_the_same_bits) {
  const std::string words =
      kAdamW + std::string("--communicator allreduce --batch 16 --batch-means total --reproducible ");
  const std::string whole = model_of(words + "--epochs 3");
  model_of(words + "--epochs 1 --transport threads --ranks 2");
  expect_end(
      0, place_.eave(kTransformer + words + "--epochs 3 --transport threads --ranks 4 --run-dir run --resume elastic"));
  EXPECT_EQ(place_.read("run/model.safetensors"), whole);
}

INSTANTIATE_TEST_SUITE_P(With, ReproducibleText, testing::Values("allreduce"));

// p ranks with a batch of n each take the step of one rank with pn, but for rounding.
TEST_P(ReproducibleText, of_allreduce_is_that_of_one_rank_with_the_batch_of_all) {
  const auto loss_of = [&](const std::string& words) {
    model_of(
        "--seed 3 --model 'embedding 8 positions 12; residual(layer_norm; linear 24; attention 2; linear 8); "
        "layer_norm; tied_output' --epochs 2 " +
        words);
    return json_in(place_, "run/summary.json").at("evaluation").at("center").at("loss").get<double>();
  };
  EXPECT_NEAR(loss_of("--batch 4 --communicator allreduce --transport threads --ranks 4"),
              loss_of("--batch 16 --communicator none"), 1e-4);
}

}  // namespace
}  // namespace eave
