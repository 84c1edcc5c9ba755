// If a GPU, driver or library cannot be used, eave prints one message with what to do, all ranks end, and the exit code
// is right.
#include <gtest/gtest.h>

#include <filesystem>

#include "on_emulated_gpu.h"

namespace eave {
namespace {

class BadGpu : public OnEmulatedGpu {
 protected:
  // Runs one process, threads, and ranks under mpirun. All must refuse.
  void expect_refusal_by_all(const std::string& environment, const std::vector<std::string>& texts,
                             const std::string& words = "") const {
    SCOPED_TRACE(environment);
    const std::string all = "--device cuda " + words;
    expect_refusal(train(all, 0, environment), 71, texts);
    expect_refusal(train(all + " --share-gpu --transport threads --ranks 4", 0, environment), 71, texts);
    if (has_mpirun()) expect_refusal(train(all + " --share-gpu", 2, environment), 71, texts);
  }

  // With --device auto the run continues on the CPU and says why.
  void expect_the_cpu(const std::string& environment, const std::string& text) const {
    const Ended ended = train("--max-steps 2", 0, environment);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_NE((ended.output + ended.errors).find(text), std::string::npos) << ended.output;
  }
};

TEST_F(BadGpu, whose_driver_is_too_old_is_refused_with_the_one_that_is_needed) {
  expect_refusal_by_all("EMULATED_CUDA_DRIVER=12040", {"CUDA 12.4", "CUDA 13.0", "580", "--device cpu"});
  expect_the_cpu("EMULATED_CUDA_DRIVER=12040", "580");
}

TEST_F(BadGpu, whose_driver_does_not_start_is_refused_with_what_to_do) {
  const auto fails = [](int error) { return "EMULATED_CUDA_FAIL=cudaGetDeviceCount:1:" + std::to_string(error); };
  expect_refusal_by_all(fails(802), {"cudaErrorSystemNotReady", "nvidia-fabricmanager", "--device cpu"});
  expect_refusal(train("--device cuda", 0, fails(999)), 71, {"nvidia-smi", "--device cpu"});
  expect_the_cpu(fails(803), "restart this host");
}

TEST_F(BadGpu, that_is_hidden_is_told_with_the_words_that_hide_it) {
  for (const std::string word : {"", "garbage", "-1", "2", "GPU-7", "MIG-"}) {
    expect_refusal(train("--device cuda", 0, "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES='" + word + "'"), 71,
                   {"sees none", "CUDA_VISIBLE_DEVICES is '" + word + "'", "--device cpu"});
  }
  expect_refusal(train("--device cuda --gpu 1", 0, "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=0,x,1"), 64,
                 {"--gpu 1", "sees 1 GPU", "'0,x,1'", "counted from 0"});
}

TEST_F(BadGpu, that_is_named_by_a_long_name_or_is_an_instance_serves) {
  for (const std::string word : {"GPU-1", "MIG-1-a", "1,0"}) {
    const Ended ended = train("--device cuda --max-steps 2", 0, "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=" + word);
    EXPECT_EQ(ended.code, 0) << word << ended.errors;
  }
}

TEST_F(BadGpu, whose_number_is_out_of_range_is_refused) {
  for (const std::string number : {"1", "-1", "99999999999999999999", "zero", "0.5"})
    expect_refusal(train("--device cuda --gpu=" + number), 64, {"--gpu"});
}

TEST_F(BadGpu, that_is_too_old_is_passed_over_and_refused_if_named) {
  const std::string mixed = "EMULATED_CUDA_DEVICES=2 CUDA_VISIBLE_DEVICES=0,1 EMULATED_CUDA_CAPABILITY=7.0,7.5";
  expect_refusal_by_all("EMULATED_CUDA_CAPABILITY=7.0", {"compute capability 7.0", "7.5", "--device cpu"});
  expect_the_cpu("EMULATED_CUDA_CAPABILITY=6.1", "compute capability 6.1");
  const Ended ended = train("--device cuda --max-steps 2", 0, mixed);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("cuda:1 Emulated GPU"), std::string::npos) << ended.output;
  expect_refusal(train("--device cuda --gpu 0", 0, mixed), 71, {"GPU 0", "compute capability 7.0", "--gpu"});
  expect_refusal(train("--device cuda --transport threads --ranks 2", 0, mixed), 64, {"no GPU is left for rank 1"});
}

TEST_F(BadGpu, for_which_nothing_was_compiled_is_refused_before_training) {
  expect_refusal_by_all(
      "EMULATED_CUDA_FAIL=cudaLaunchKernel:1:209",
      {"cuda:0", "compute capability 9.0", "cudaErrorNoKernelImageForDevice", "CMAKE_CUDA_ARCHITECTURES"});
}

TEST_F(BadGpu, that_another_process_has_filled_is_told_as_that) {
  const std::string size = "EMULATED_CUDA_MEMORY=4000000 EMULATED_CUDA_TAKEN=";
  expect_refusal_by_all(size + "4000000", {"no memory is left on cuda:0", "other processes", "nvidia-smi"});
  expect_refusal_by_all(size + "3900000", {"out of memory on cuda:0", "other processes held", "nvidia-smi"},
                        "--batch 90");
  expect_refusal_by_all("EMULATED_CUDA_FAIL=cudaSetDevice:1:46", {"cudaErrorDevicesUnavailable", "another process"});
}

// The driver and the libraries also need device memory, so any call may fail for lack of it.
TEST_F(BadGpu, that_is_full_in_any_call_says_so) {
  for (const std::string call : {"cudaMalloc:1", "cudaMalloc:9", "cudaMallocHost:2", "cudaGraphInstantiate:1"})
    expect_refusal(train("--device cuda", 0, "EMULATED_CUDA_FAIL=" + call + ":2"), 71, {"memory"});
}

TEST_F(BadGpu, libraries_of_another_version_are_refused) {
  for (const std::string version : {"91800", "90100", "8907", "100100"})
    expect_refusal(train("--device cuda", 0, "EMULATED_CUDNN_VERSION=" + version), 71,
                   {"cuDNN", "9.19.0", "LD_LIBRARY_PATH", "--device cpu"});
  expect_refusal_by_all("EMULATED_CUDNN_VERSION=90100", {"cuDNN 9.1.0 is found", "9.19.0"});
  expect_refusal_by_all("EMULATED_CUDNN_CUDA=12090", {"cuDNN", "CUDA 12", "CUDA 13"});
  expect_the_cpu("EMULATED_CUDNN_VERSION=90100", "cuDNN 9.1.0");
  EXPECT_EQ(train("--device cuda --max-steps 2", 0, "EMULATED_CUDNN_VERSION=92800").code, 0);
}

TEST_F(BadGpu, an_older_nccl_is_refused_where_it_would_be_used) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const std::string old = "EMULATED_CUDA_DEVICES=4 CUDA_VISIBLE_DEVICES=0,1,2,3 EMULATED_NCCL_VERSION=22105";
  for (const int ranks : {2, 4})
    expect_refusal(train("--device cuda", ranks, old), 71, {"NCCL 2.21.5 is found", "2.28.9", "--transport mpi"});
  expect_refusal(train("--device cuda --transport nccl", 1, old), 71, {"NCCL 2.21.5 is found"});
  EXPECT_EQ(train("--device cuda --max-steps 2", 0, old).code, 0) << "one rank needs none";
}

TEST_F(BadGpu, a_module_that_was_cut_short_is_refused) {
  const auto size = std::filesystem::file_size(EAVE_CUDA_MODULE);
  for (const auto part : {size / 2, size / 10, std::uintmax_t{1000}, std::uintmax_t{10}, std::uintmax_t{0}}) {
    ASSERT_EQ(place_.run("true; (head -c " + std::to_string(part) + " '" EAVE_CUDA_MODULE "' >cut.so)").code, 0);
    const Ended ended = place_.eave("train" + std::string(kQuick) + "--device cuda", {0, "LIBEAVE_CUDA=$PWD/cut.so"});
    expect_refusal(ended, 71, {"the module for GPUs cannot be opened", "cut.so is cut short", "--device cpu"});
  }
  for (const std::string other : {"$PWD", "/dev/null", "'" EAVE_PROGRAM "'"}) {
    const Ended ended = place_.eave("train" + std::string(kQuick) + "--device cuda", {0, "LIBEAVE_CUDA=" + other});
    expect_refusal(ended, 71, {});
  }
  const Ended none = place_.eave("train" + std::string(kQuick) + "--device cuda", {0, "LIBEAVE_CUDA=none.so"});
  expect_refusal(none, 71, {"LIBEAVE_CUDA names", "none.so"});
}

TEST_F(BadGpu, a_cudnn_that_is_missing_or_lacks_functions_is_told_by_name) {
  ASSERT_EQ(place_
                .run("cp '" EAVE_FAKE_MODULE "' module.so; mkdir old eight; cp '" EAVE_FAKE_OLD_CUDNN
                     "' old/; touch eight/libcudnn.so.8")
                .code,
            0);
  const auto with = [&](const std::string& environment) {
    return place_.eave("train" + std::string(kQuick) + "--device cuda",
                       {0, "LIBEAVE_CUDA=$PWD/module.so LD_LIBRARY_PATH=" + environment});
  };
  expect_refusal(with("none"), 71, {"libcudnn.so.99", "install cuDNN", "LD_LIBRARY_PATH", "--device cpu"});
  expect_refusal(with("$PWD/eight"), 71, {"libcudnn.so.99", "eight/libcudnn.so.8", "another version"});
  expect_refusal(with("$PWD/old"), 71, {"cudnnFunctionOfToday", "cuDNN", "too old"});
  ASSERT_EQ(place_.run("true; (head -c 1000 '" EAVE_FAKE_OLD_CUDNN "' >libcudnn.so.99)").code, 0);
  expect_refusal(with("none"), 71, {"libcudnn.so.99 is cut short", "install it again"});
}

// Whichever call fails, eave prints one message and all ranks end.
TEST_F(BadGpu, that_fails_in_a_step_ends_all_ranks) {
  for (const std::string call :
       {"cudaGraphLaunch:3:719", "cudaMemcpyAsync:30:700", "cudaEventQuery:9:719", "cudaGraphLaunch:3:719:lasting",
        "cudaEventRecord:40:700:lasting", "cudaLaunchKernel:40:214:lasting"}) {
    SCOPED_TRACE(call);
    for (const int ranks : {0, 2}) {
      if (ranks > 0 && !has_mpirun()) continue;
      const Ended ended =
          train(std::string("--device cuda") + (ranks > 0 ? " --share-gpu" : ""), ranks, "EMULATED_CUDA_FAIL=" + call);
      EXPECT_EQ(ended.code, 71) << ended.errors;
      EXPECT_TRUE(ended.says("CUDA, ")) << ended.errors;
      EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
    }
  }
}

// One rank's GPU fails while the other ranks wait for that rank.
TEST_F(BadGpu, of_one_rank_that_fails_in_a_step_ends_all_with_one_message) {
  for (const int ranks : {2, 4}) {
    for (const std::string call : {"cudaGraphLaunch:2:214:lasting", "cudaEventQuery:9:719:lasting"}) {
      for (const std::string method : {"allreduce", "easgd --tau 2", "easgd-async --tau 2"}) {
        SCOPED_TRACE(call + " " + method + " " + std::to_string(ranks));
        const std::string environment =
            "EMULATED_CUDA_DEVICES=4 CUDA_VISIBLE_DEVICES=0,1,2,3 EMULATED_CUDA_FAIL=1/" + call;
        const std::string words = "--device cuda --communicator " + method;
        std::vector<Ended> all = {
            train(words + " --transport threads --ranks " + std::to_string(ranks), 0, environment)};
        if (has_mpirun()) all.push_back(train(words, ranks, environment));
        for (const Ended& ended : all) {
          EXPECT_EQ(ended.code, 71) << ended.errors;
          EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
          EXPECT_TRUE(ended.says("rank 1")) << ended.errors;
          EXPECT_TRUE(ended.says("--resume")) << ended.errors;
        }
      }
    }
  }
}

}  // namespace
}  // namespace eave
