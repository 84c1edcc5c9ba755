// Runs eave on an emulated GPU as people do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "on_emulated_gpu.h"

namespace eave {
namespace {

double loss_of(const Place& place, const std::string& run) {
  return nlohmann::json::parse(place.read(run + "/summary.json")).at("evaluation").at("center").at("loss");
}

TEST_F(OnEmulatedGpu, auto_takes_the_gpu_and_says_so) {
  const Ended ended = train("--max-steps 2");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("cuda:0 Emulated GPU"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("images on the device"), std::string::npos) << ended.output;
}

TEST_F(OnEmulatedGpu, ranks_that_share_it_end_where_the_cpu_ends) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  for (const std::string method : {"allreduce", "easgd --tau 2", "local-sgd --tau 3 --post-local-at 4",
                                   "easgd-async --tau 2 --async-order round-robin", "diloco --tau 3"}) {
    SCOPED_TRACE(method);
    const std::string words = "--overwrite --communicator " + method + " --run-dir ";
    const Ended there = train(words + "there --device cuda --precision fp32 --share-gpu", 2);
    const Ended here = train(words + "here --device cpu", 2);
    ASSERT_EQ(there.code, 0) << there.errors;
    ASSERT_EQ(here.code, 0) << here.errors;
    EXPECT_NEAR(loss_of(place_, "there"), loss_of(place_, "here"), 1e-4);
  }
}

// A transformer on text. With Muon the devices differ more: its iteration magnifies rounding errors.
TEST_F(OnEmulatedGpu, a_transformer_ends_where_the_cpu_ends) {
  std::string text;
  for (int line = 0; line < 60; ++line) text += "Line " + std::to_string(line * line) + " of a short text.\n\n";
  place_.write("texts/a.txt", text);
  const std::string words =
      "train --data text --data-dir texts --context 12 --model 'embedding 8 positions 12; "
      "residual(layer_norm; linear 24; attention 2; linear 8); residual(rms_norm; linear 16; gated silu; linear 8); "
      "layer_norm; tied_output' --batch 4 --lr 0.01 --max-steps 4 --progress off --overwrite --transport threads "
      "--ranks 2 --communicator easgd --tau 2 --clip-norm 1 ";
  for (const auto& [optimizer, tolerance] :
       std::vector<std::pair<std::string, double>>{{"adamw", 1e-4}, {"muon", 1e-3}}) {
    SCOPED_TRACE(optimizer);
    const auto run = [&](const std::string& more) {
      return place_.eave(words + "--optimizer " + optimizer + more, {0, "LIBEAVE_CUDA='" EAVE_CUDA_MODULE "'"});
    };
    const Ended there = run(" --device cuda --precision fp32 --share-gpu --run-dir there");
    const Ended here = run(" --device cpu --run-dir here");
    ASSERT_EQ(there.code, 0) << there.errors;
    ASSERT_EQ(here.code, 0) << here.errors;
    EXPECT_NEAR(loss_of(place_, "there"), loss_of(place_, "here"), tolerance);
  }
}

TEST_F(OnEmulatedGpu, models_are_the_same_file_whatever_ranks_they_were_trained_on) {
  const std::string words = "--device cuda --batch 16 --batch-means total --reproducible --run-dir ";
  expect_refusal(train(words + "none"), 64, {"--deterministic"});
  ASSERT_EQ(train(words + "one --deterministic").code, 0);
  const Ended ended = train(words + "four --deterministic --share-gpu --transport threads --ranks 4");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(place_.read("four/model.safetensors"), place_.read("one/model.safetensors"));
}

TEST_F(OnEmulatedGpu, batch_norm_over_all_ranks_is_refused) {
  expect_refusal(train("--model 'dense 8; batch_norm; dense classes' --device cuda --batch-norm sync --run-dir none"),
                 64, {"--batch-norm sync", "--device cpu"});
}

TEST_F(OnEmulatedGpu, images_that_do_not_fit_come_from_the_host) {
  const std::string words = "--device cuda --max-steps 8 --precision fp32 --run-dir ";
  ASSERT_EQ(train(words + "fits").code, 0);
  const Ended ended = train(words + "not --synthetic-samples 20000", 0, "EMULATED_CUDA_MEMORY=2000000");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("images from the host"), std::string::npos) << ended.output;
}

TEST_F(OnEmulatedGpu, a_run_goes_on_from_its_checkpoint) {
  const std::string words = "--device cuda --deterministic --communicator easgd --tau 2 --evaluate-every 0.5 ";
  ASSERT_EQ(train(words + "--run-dir whole").code, 0);
  ASSERT_EQ(train(words + "--run-dir cut --max-steps 6").code, 0);
  const Ended ended = train(words + "--run-dir cut --resume");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(place_.read("cut/model.safetensors"), place_.read("whole/model.safetensors"));
}

TEST_F(OnEmulatedGpu, a_run_goes_on_on_another_device_but_not_in_another_precision) {
  const std::string words = "--run-dir run --communicator easgd --tau 2 ";
  ASSERT_EQ(train(words + "--device cuda --max-steps 4").code, 0);
  expect_refusal(train(words + "--device cuda --precision bf16 --max-steps 6 --resume"), 78, {"--precision tf32"});
  const Ended ended = train(words + "--device cpu --max-steps 8 --resume");
  EXPECT_EQ(ended.code, 0) << ended.errors;
}

TEST_F(OnEmulatedGpu, plans_are_timed_once_and_found_again) {
  const std::string words =
      "--device cuda --autotune --max-steps 2 --model 'conv2d 4 3x3; relu; flatten; dense classes' ";
  const std::string cache = "XDG_CACHE_HOME='" + (place_.path() / "cache").string() + "' ";
  const std::string new_plans = "plans: 0 of earlier runs, 5 timed in ", no_times = "plans: 5 of earlier runs, 0 timed";
  const auto expect_card = [](const Ended& ended, const std::string& text) {
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_NE(ended.output.find(text), std::string::npos) << ended.output;
  };
  expect_card(train(words, 0, cache), new_plans);
  expect_card(train(words, 0, cache), no_times);
  // Another batch size or precision makes other operations.
  expect_card(train(words + "--batch 3", 0, cache), new_plans);
  // With fp32 each operation of the convolution has one candidate. Its choice is kept too.
  expect_card(train(words + "--precision fp32", 0, cache), "plans: 0 of earlier runs, 3 timed in ");
  expect_card(train(words + "--precision fp32", 0, cache), no_times);
  // Two ranks tune at the same time, each on its own GPU.
  const std::string two = "--batch 5 --transport threads --ranks 2 ";
  const std::string gpus = cache + "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=0,1";
  expect_card(train(words + two, 0, gpus), new_plans);
  expect_card(train(words + two, 0, gpus), no_times);
  expect_card(train(words, 0, cache), no_times);
  // Without a cache folder no choice is kept, and nothing else changes.
  for (const char* none : {"XDG_CACHE_HOME=/proc/eave", "XDG_CACHE_HOME= HOME="})
    expect_card(train(words, 0, none), new_plans);
  const Ended ended = train(words, 0, "XDG_CACHE_HOME=/proc/eave");
  EXPECT_NE(ended.output.find("not kept: cannot create /proc/eave"), std::string::npos) << ended.output;
  expect_refusal(train(words + "--deterministic"), 64, {"--autotune", "--deterministic"});
}

TEST_F(OnEmulatedGpu, more_ranks_than_gpus_are_refused) {
  expect_refusal(train("--device cuda --transport threads --ranks 2"), 64, {"rank 1", "1 GPU", "--share-gpu"});
  if (has_mpirun()) expect_refusal(train("--device cuda", 2), 64, {"rank 1", "1 GPU", "--share-gpu"});
}

TEST_F(OnEmulatedGpu, a_gpu_that_is_not_there_is_refused) {
  expect_refusal(train("--device cuda --gpu 3"), 64, {"--gpu 3", "1 GPU"});
}

TEST_F(OnEmulatedGpu, every_rank_takes_a_gpu_of_its_own) {
  const Ended ended =
      train("--max-steps 2 --transport threads --ranks 2", 0, "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=0,1");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("cuda:0"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("cuda:1"), std::string::npos) << ended.output;
}

TEST_F(OnEmulatedGpu, no_driver_and_no_gpu_are_told_apart) {
  expect_refusal(train("--device cuda", 0, "EMULATED_CUDA_DEVICES=-1"), 71, {"driver", "--device cpu"});
  for (const std::string none : {"EMULATED_CUDA_DEVICES=0", "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES="})
    expect_refusal(train("--device cuda", 0, none), 71, {"sees none", "--device cpu"});
  const Ended ended = train("--max-steps 2", 0, "EMULATED_CUDA_DEVICES=0");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("sees none"), std::string::npos) << ended.output;
}

TEST_F(OnEmulatedGpu, out_of_memory_says_what_would_fit) {
  expect_refusal(train("--device cuda --batch 90", 0, "EMULATED_CUDA_MEMORY=150000"), 71,
                 {"out of memory on cuda:0", "are needed", "are free", "samples", "would fit"});
}

TEST_F(OnEmulatedGpu, a_loss_that_is_not_finite_ends_training) {
  for (const std::string method : {"allreduce", "easgd"}) {
    const Ended ended =
        train("--device cuda --lr 9e5 --nonfinite-limit 3 --transport threads --ranks 2 --share-gpu --communicator " +
              method);
    EXPECT_EQ(ended.code, 76) << method << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1u) << method << ended.errors;
  }
}

TEST_F(OnEmulatedGpu, nccl_without_nccl_is_refused) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  expect_refusal(train("--device cuda --transport nccl", 1), 78, {"NCCL"});
  expect_refusal(train("--device cpu --transport nccl", 2), 64, {"nccl"});
}

const std::string kTwoGpus = "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=0,1 ";
const std::string kInsteadOfNccl =
    " instead of NCCL, which is slower: NCCL needs an eave that was built with it on every ";

TEST_F(OnEmulatedGpu, ranks_with_gpus_of_their_own_are_told_once_why_they_do_without_nccl) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ended ended = train("--device cuda --max-steps 2", 2, kTwoGpus);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const std::size_t told = ended.errors.find("GPUs exchange by mpi" + kInsteadOfNccl);
  ASSERT_NE(told, std::string::npos) << ended.errors;
  EXPECT_EQ(ended.errors.find("NCCL needs", told + 80), std::string::npos) << ended.errors;
  for (const auto& [words, gpus] :
       {std::pair<std::string, std::string>{"--transport mpi", kTwoGpus}, {"--share-gpu", ""}}) {
    const Ended by_choice = train("--device cuda --max-steps 2 " + words, 2, gpus);
    EXPECT_EQ(by_choice.code, 0) << by_choice.errors;
    EXPECT_FALSE(by_choice.says("NCCL")) << words << by_choice.errors;
  }
}

// Two processes that meet by TCP, as under torchrun. The shell waits for both.
TEST_F(OnEmulatedGpu, ranks_that_meet_by_tcp_try_nccl_too_unless_tcp_is_named) {
  for (const std::string words : {"", " --transport tcp"}) {
    const auto rank = [&](const std::string& number) {
      return kTwoGpus + "LIBEAVE_CUDA='" EAVE_CUDA_MODULE "' EAVE_MEET=127.0.0.1:" +
             std::to_string(20000 + (getpid() + static_cast<int>(words.size())) % 10000) +
             " WORLD_SIZE=2 LOCAL_RANK=" + number + " RANK=" + number + " " + program() + " train" +
             std::string(kQuick) + "--device cuda --max-steps 2" + words;
    };
    const Ended ended = place_.run("true; (" + rank("1") + " & " + rank("0") + " && wait $!)");
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.says("GPUs exchange by tcp" + kInsteadOfNccl), words.empty()) << ended.errors;
  }
}

}  // namespace
}  // namespace eave
