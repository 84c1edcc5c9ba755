// Tests which device each rank takes.
#include "app/main/devices.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "test/communicator/worker.h"
#include "test/expectations.h"

namespace eave {
namespace {

VisibleGpus host_with(const std::string& host, std::vector<std::string> ids) { return {host, std::move(ids), ""}; }
VisibleGpus host_without(const std::string& host) { return {host, {}, "no GPU can be used: there is no driver"}; }

std::vector<int> gpus(const Given& given, const std::vector<VisibleGpus>& ranks) {
  std::vector<int> numbers;
  for (const DevicePlan& plan : plan_devices(values_of(device_options(), given), ranks)) {
    numbers.push_back(plan.is_cuda ? plan.gpu : -1);
  }
  return numbers;
}

Error refusal(const Given& given, const std::vector<VisibleGpus>& ranks) {
  return error_of([&] { gpus(given, ranks); });
}

TEST(Devices, ranks_of_a_host_take_its_gpus_in_turn) {
  const VisibleGpus a = host_with("a", {"g0", "g1"}), b = host_with("b", {"g0", "g1"});
  EXPECT_EQ(gpus({}, {a, a, b, b}), (std::vector{0, 1, 0, 1}));
  EXPECT_EQ(gpus({}, {a, b, a, b}), (std::vector{0, 0, 1, 1}));
}

// Batch systems often show each process only its own GPU, which then has number 0 in every process.
TEST(Devices, a_rank_that_is_shown_one_gpu_takes_it) {
  EXPECT_EQ(gpus({}, {host_with("a", {"g2"}), host_with("a", {"g3"})}), (std::vector{0, 0}));
  EXPECT_EQ(gpus({}, {host_with("a", {"g2", "g3"}), host_with("a", {"g3"})}), (std::vector{0, 0}));
}

TEST(Devices, more_ranks_than_gpus_are_refused_unless_they_share) {
  const VisibleGpus a = host_with("a", {"g0", "g1"});
  const Error error = refusal({}, {a, a, a});
  EXPECT_EQ(error.code(), ExitCode::kUsage);
  expect_parts(error.what(), {"rank 2 on a, which sees 2 GPUs", "--share-gpu"});
  EXPECT_EQ(gpus({{"share-gpu", "on"}}, {a, a, a, a, a}), (std::vector{0, 1, 0, 1, 0}));
}

TEST(Devices, who_shares_is_known_to_all) {
  const VisibleGpus a = host_with("a", {"g0"}), b = host_with("b", {"g0"});
  for (const DevicePlan& plan : plan_devices(values_of(device_options(), {{"share-gpu", "on"}}), {a, a, b})) {
    EXPECT_FALSE(plan.is_own);
  }
  for (const DevicePlan& plan : plan_devices(values_of(device_options(), {}), {a, b})) EXPECT_TRUE(plan.is_own);
}

TEST(Devices, a_gpu_may_be_named) {
  const VisibleGpus a = host_with("a", {"g0", "g1"});
  EXPECT_EQ(gpus({{"gpu", "1"}}, {a}), (std::vector{1}));
  EXPECT_EQ(refusal({{"gpu", "2"}}, {a}).code(), ExitCode::kUsage);
  EXPECT_EQ(refusal({{"gpu", "1"}}, {a, a}).code(), ExitCode::kUsage);
  EXPECT_EQ(gpus({{"gpu", "1"}, {"share-gpu", "on"}}, {a, a}), (std::vector{1, 1}));
}

TEST(Devices, auto_takes_the_cpu_where_a_rank_sees_no_gpu_and_says_which) {
  const std::vector<VisibleGpus> ranks = {host_with("a", {"g0"}), host_without("b")};
  EXPECT_EQ(gpus({}, ranks), (std::vector{-1, -1}));
  const std::string why = plan_devices(values_of(device_options(), {}), ranks).front().why_not_gpu;
  EXPECT_EQ(why, "on rank 1, b: no GPU can be used: there is no driver");
}

TEST(Devices, cuda_fails_where_a_rank_sees_no_gpu) {
  const Error error = refusal({{"device", "cuda"}}, {host_without("a"), host_without("a")});
  EXPECT_EQ(error.code(), ExitCode::kResource);
  EXPECT_STREQ(error.what(), "no GPU can be used: there is no driver");
}

TEST(Devices, options_without_effect_are_refused) {
  for (const char* name : {"share-gpu", "deterministic", "autotune"}) {
    EXPECT_EQ(refusal({{"device", "cpu"}, {name, "on"}}, {host_without("a")}).code(), ExitCode::kUsage) << name;
  }
  EXPECT_EQ(refusal({{"precision", "bf16"}}, {host_without("a")}).code(), ExitCode::kUsage);
  EXPECT_EQ(refusal({{"share-gpu", "on"}}, {host_with("a", {"g0"})}).code(), ExitCode::kUsage);
  EXPECT_EQ(refusal({{"threads", "2"}}, {host_with("a", {"g0"})}).code(), ExitCode::kUsage);
}

// Autotuning picks kernels by measured times. The times differ from run to run, so the kernels and their bits may too.
TEST(Devices, autotuning_and_determinism_contradict_each_other) {
  const std::vector<VisibleGpus> hosts = {host_with("a", {"g0"})};
  EXPECT_EQ(refusal({{"autotune", "on"}, {"deterministic", "on"}}, hosts).code(), ExitCode::kUsage);
}

TEST(Devices, what_a_rank_sees_travels_as_text) {
  const VisibleGpus seen = unpack_gpus(pack(VisibleGpus{"host", {"one", "two"}, ""}));
  EXPECT_EQ(seen.host, "host");
  EXPECT_EQ(seen.ids, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(unpack_gpus(pack(host_without("b"))).why_none, "no GPU can be used: there is no driver");
}

TEST(Devices, a_gpu_that_does_not_fit_is_passed_over) {
  VisibleGpus a = host_with("a", {"g0", "g1", "g2"});
  a.unfit[0] = "GPU 0, Old, has compute capability 7.0";
  EXPECT_EQ(gpus({}, {a, a}), (std::vector{1, 2}));
  EXPECT_EQ(gpus({{"share-gpu", "on"}}, {a, a, a}), (std::vector{1, 2, 1}));
  EXPECT_EQ(refusal({}, {a, a, a}).code(), ExitCode::kUsage);
  const Error named = refusal({{"gpu", "0"}}, {a});
  EXPECT_EQ(named.code(), ExitCode::kResource);
  expect_parts(named.what(), {"compute capability 7.0"});
}

TEST(Devices, other_ranks_know_what_hides_gpus_and_which_do_not_fit) {
  VisibleGpus sent = host_with("a", {"g0", "g1"});
  sent.unfit[1] = "too old";
  sent.visible = "0,1,x";
  const VisibleGpus seen = unpack_gpus(pack(sent));
  EXPECT_EQ(seen.ids, sent.ids);
  EXPECT_EQ(seen.unfit, sent.unfit);
  EXPECT_EQ(seen.visible, "0,1,x");
  const Error error = refusal({}, {seen, seen});
  expect_parts(error.what(), {"sees 2 GPUs (its CUDA_VISIBLE_DEVICES is '0,1,x')"});
}

}  // namespace
}  // namespace eave
