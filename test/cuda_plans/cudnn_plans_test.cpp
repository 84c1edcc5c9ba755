// cuDNN has a plan for every convolution of every model, on every GPU named here. The test builds the plans without a
// GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <ostream>
#include <set>

#include "base/files/input_file.h"
#include "device/cuda/plans/cudnn_plan.h"
#include "eave/check.h"
#include "zoo_convolutions.h"

namespace eave::cuda {
namespace {

struct Case {
  const char* device;
  const char* precision_name;
  Precision precision;
  bool deterministic;
  friend std::ostream& operator<<(std::ostream& out, const Case& one) {
    return out << one.device << " " << one.precision_name << (one.deterministic ? " deterministic" : "");
  }
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.device) + "_" + info.param.precision_name +
         (info.param.deterministic ? "_deterministic" : "");
}

// Turing has no bfloat16.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* device : {"h200", "a100", "t4", "b200"}) {
    for (const bool deterministic : {false, true}) {
      all.push_back({device, "fp32", Precision::kFp32, deterministic});
      all.push_back({device, "tf32", Precision::kTf32, deterministic});
      if (std::string(device) != "t4") all.push_back({device, "bf16", Precision::kBf16, deterministic});
    }
  }
  return all;
}

// The batch sizes of the benchmarks; the deterministic rules are tested with fewer.
std::vector<std::int64_t> batches(bool deterministic) {
  return deterministic ? std::vector<std::int64_t>{32, 128} : std::vector<std::int64_t>{32, 128, 512};
}

std::set<ConvolutionOperation> operations(std::int64_t samples, bool half) {
  std::set<ConvolutionOperation> all;
  for (const ConvolutionShape& shape : zoo_convolutions(samples)) {
    all.insert(describe_operation(ConvolutionTask::kForward, shape, half));
    all.insert(describe_operation(ConvolutionTask::kToInput, shape, half));
    all.insert(describe_operation(ConvolutionTask::kToWeights, shape, half));
  }
  return all;
}

PlanTarget target_named(const std::string& device) {
  return PlanTarget(read_file(EAVE_DEVICE_DESCRIPTIONS "/" + device + ".json"));
}

void load_some_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  ASSERT_NE(dlopen(EAVE_NO_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
}

// For the life of a process cuDNN remembers whether the first device it saw has TF32. ctest therefore gives each test
// its own process.
class CudnnPlans : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { load_some_driver(); }
  static PlanRules rules() { return rules_of(GetParam().precision, GetParam().deterministic); }
  // Convolutions of one or three channels use no tensor cores, and neither do small ones for which TF32 does not pay.
  // With another layout of images or filters few plans would use them.
  static double least_share_with_tensor_cores() {
    if (GetParam().precision == Precision::kFp32 || std::string(GetParam().device) == "t4") return 0;
    return half() ? 0.9 : 0.7;
  }
  static bool half() { return GetParam().precision == Precision::kBf16; }
};

struct Tally {
  int plans = 0, with_tensor_cores = 0, compiled = 0;
  std::int64_t most_workspace = 0;
  void add(const CudnnPlan& plan) {
    ++plans;
    with_tensor_cores += plan.uses_tensor_cores() ? 1 : 0;
    compiled += plan.is_compiled_at_run_time() ? 1 : 0;
    most_workspace = std::max(most_workspace, plan.workspace_bytes());
  }
  double share_with_tensor_cores() const { return plans == 0 ? 0 : 1.0 * with_tensor_cores / plans; }
  void print() const {
    std::printf("%d plans, %d with tensor cores, %d compiled at run time, workspace at most %.1f MiB\n", plans,
                with_tensor_cores, compiled, static_cast<double>(most_workspace) / (1 << 20));
  }
};

TEST_P(CudnnPlans, exist_for_every_convolution_of_the_zoo) {
  const PlanTarget device = target_named(GetParam().device);
  const PlanRules wanted = rules();
  Tally tally;
  for (const std::int64_t samples : batches(wanted.deterministic)) {
    for (const ConvolutionOperation& operation : operations(samples, half())) {
      SCOPED_TRACE(to_string(operation));
      std::vector<CudnnPlan> plans;
      ASSERT_NO_THROW(plans = find_plans(device, operation, wanted, 1));
      const CudnnPlan& plan = plans.front();
      EXPECT_LE(plan.workspace_bytes(), wanted.most_workspace_bytes);
      EXPECT_TRUE(plan.is_deterministic() || !wanted.deterministic);
      EXPECT_TRUE(wanted.tensor_cores || !plan.uses_tensor_cores());
      tally.add(plan);
    }
  }
  tally.print();
  EXPECT_GE(tally.share_with_tensor_cores(), least_share_with_tensor_cores());
}

INSTANTIATE_TEST_SUITE_P(Devices, CudnnPlans, testing::ValuesIn(cases()), name_of);

ConvolutionOperation some_operation(ConvolutionTask task) {
  ConvolutionShape shape;
  shape.samples = 8;
  shape.input = {12, 12, 16};
  shape.window = {3, 3, 1, 1};
  shape.outputs = 32;
  return describe_operation(task, shape, false);
}

TEST(CudnnRefusal, says_what_was_wanted) {
  load_some_driver();
  PlanRules rules = rules_of(Precision::kTf32, false);
  rules.most_workspace_bytes = -1;
  try {
    find_plans(target_named("h200"), some_operation(ConvolutionTask::kForward), rules, 1);
    FAIL() << "no plan takes less than nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kResource);
    EXPECT_NE(std::string(error.what()).find("8 × 12 × 12 × 16 by 3 × 3 to 32 channels"), std::string::npos)
        << error.what();
  }
}

TEST(CudnnCandidates, are_as_many_as_are_asked_for) {
  load_some_driver();
  const auto operation = some_operation(ConvolutionTask::kToWeights);
  EXPECT_EQ(find_plans(target_named("h200"), operation, rules_of(Precision::kTf32, false), 8).size(), 8u);
}

// Autotuning spends part of its time on making the candidates.
TEST(CudnnCandidates, of_resnet50_are_found_again_by_their_choices) {
  load_some_driver();
  const PlanTarget device = target_named("h200");
  const PlanRules rules = rules_of(Precision::kBf16, false);
  Tally tally;
  double seconds = 0;
  for (const ConvolutionShape& shape : zoo_convolutions_of("resnet50", {224, 224, 3}, 256)) {
    const ConvolutionOperation operation = describe_operation(ConvolutionTask::kForward, shape, true);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<CudnnPlan> plans = find_plans(device, operation, rules, 8);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const CudnnPlan& plan : plans) tally.add(plan);
    const std::string& last = plans.back().choice();
    EXPECT_NE(plans.front().choice(), last);
    const std::optional<CudnnPlan> again = find_plan_again(device, operation, rules, last);
    ASSERT_TRUE(again.has_value()) << last;
    EXPECT_EQ(again->choice(), last);
    EXPECT_FALSE(find_plan_again(device, operation, rules, last + "0").has_value());
    EXPECT_FALSE(find_plan_again(device, operation, rules, "A 1000000, engine 1, 0 bytes").has_value());
  }
  tally.print();
  std::printf("%.1f s\n", seconds);
}

}  // namespace
}  // namespace eave::cuda
