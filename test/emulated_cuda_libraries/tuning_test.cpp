// Autotuning times candidates, here with a fake clock that the tests set, and finds earlier choices again.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../cuda_kernels/on_device.h"
#include "../cuda_plans/zoo_convolutions.h"
#include "device/cuda/library_handles.h"
#include "device/cuda/plans/autotune.h"
#include "eave/check.h"
#include "emulator.h"

namespace eave::cuda {
namespace {

// Candidates that take the given milliseconds, on a clock that only they advance. A candidate with time 0 fails.
class FakeTimer final : public CandidateTimer {
 public:
  explicit FakeTimer(std::vector<double> milliseconds) : milliseconds_(std::move(milliseconds)) {
    runs.resize(milliseconds_.size());
  }
  double time_once(std::size_t candidate) override {
    run(candidate, 2);
    return milliseconds_[candidate];
  }
  double time_replays(std::size_t candidate, int count) override {
    run(candidate, (1 + kReplays) * count);
    return milliseconds_[candidate];
  }

  double seconds = 0;
  std::vector<int> runs;

 private:
  void run(std::size_t candidate, int count) {
    if (milliseconds_[candidate] == 0) throw Error(ExitCode::kResource, "refused");
    runs[candidate] += count;
    seconds += 1e-3 * milliseconds_[candidate] * count;
  }

  std::vector<double> milliseconds_;
};

TEST(TuningByFakeClock, drops_what_takes_more_than_one_and_a_half_times_as_long_after_one_run) {
  FakeTimer timer({4, 3.1, 2, 2.9, 9});
  EXPECT_EQ(find_fastest(5, timer).candidate, 2u);
  EXPECT_EQ(timer.runs, (std::vector<int>{2, 2, 6, 6, 2}));
}

TEST(TuningByFakeClock, repeats_in_inverse_proportion_to_time) {
  for (const auto& [milliseconds, replayed] :
       std::map<double, int>{{0.001, 80}, {0.1, 40}, {0.25, 16}, {1, 4}, {50, 4}}) {
    FakeTimer timer({milliseconds, 1.1 * milliseconds});
    EXPECT_EQ(find_fastest(2, timer).candidate, 0u);
    EXPECT_EQ(timer.runs[0], 2 + replayed) << milliseconds;
  }
}

TEST(TuningByFakeClock, does_not_repeat_what_has_no_rival) {
  FakeTimer timer({2, 9, 9, 0});
  EXPECT_EQ(find_fastest(4, timer).candidate, 0u);
  EXPECT_EQ(timer.runs, (std::vector<int>{2, 2, 2, 0}));
}

// If an operation takes less time than a launch, one run says little about it.
TEST(TuningByFakeClock, does_not_drop_by_differences_of_a_launch) {
  FakeTimer timer({0.003, 0.012});
  EXPECT_EQ(find_fastest(2, timer).candidate, 0u);
  EXPECT_GT(timer.runs[1], 2);
}

TEST(TuningByFakeClock, passes_over_what_fails_and_runs_nothing_without_a_choice) {
  FakeTimer timer({0, 5, 0, 4});
  const Fastest fastest = find_fastest(4, timer);
  EXPECT_EQ(fastest.candidate, 3u);
  EXPECT_EQ(fastest.timed, 2u);
  FakeTimer none({0, 0});
  EXPECT_EQ(find_fastest(2, none).candidate, 0u);
  FakeTimer one({7});
  EXPECT_EQ(find_fastest(1, one).candidate, 0u);
  EXPECT_EQ(one.runs[0], 0);
}

TEST(TuningByFakeClock, takes_the_best_so_far_when_the_time_is_over) {
  FakeTimer timer({400, 300, 200, 100});
  TuningBudget budget(16, [&] { return timer.seconds; });
  const TuningBudget::Share share(budget);  // one second
  const Fastest fastest = find_fastest(4, timer, [&] { return share.is_spent(); });
  EXPECT_EQ(fastest.candidate, 1u);
  EXPECT_FALSE(fastest.is_whole);
  EXPECT_EQ(timer.runs, (std::vector<int>{2, 2, 0, 0}));
}

TEST(TuningByFakeClock, leaves_each_operation_a_part_of_what_is_left) {
  double now = 0;
  TuningBudget budget(16, [&] { return now; });
  for (const double share : {1.0, 15.0 / 16}) {
    const TuningBudget::Share one(budget);
    now += share * 0.999;
    EXPECT_FALSE(one.is_spent());
    now += share * 0.001 + 1e-9;
    EXPECT_TRUE(one.is_spent());
  }
  EXPECT_NEAR(budget.left(), 16 - 1 - 15.0 / 16, 1e-6);
}

// Milliseconds that the best candidate takes for one run, on a GPU with a peak of 200 TFLOP/s and 2 TB/s.
double estimate_ms(const ConvolutionOperation& o) {
  const double flops = 2.0 * static_cast<double>(o.output_values() * o.window[0] * o.window[1] * o.input[2]);
  const double bytes = 2.0 * static_cast<double>(o.input_values() + o.output_values() + o.filter_values());
  return 5e-3 + 1e3 * std::max(flops / 200e12, bytes / 2e12);
}

// Simulates tuning resnet50 with eight candidates per operation, which take 1 to 4 times as long as the best. cuDNN
// compiles every second one, for `compile_ms`. Returns the total seconds. Adds to `runs` the number of runs, and to
// `cut_short` the number of operations that were not tuned to the end.
double seconds_for_resnet50(double compile_ms, std::int64_t& runs, int& cut_short) {
  std::set<ConvolutionOperation> operations;
  for (const ConvolutionShape& shape : zoo_convolutions_of("resnet50", {224, 224, 3}, 256))
    for (const ConvolutionTask task :
         {ConvolutionTask::kForward, ConvolutionTask::kToInput, ConvolutionTask::kToWeights})
      operations.insert(describe_operation(task, shape, true));
  EXPECT_GT(operations.size(), 50u);
  double now = 0;
  TuningBudget budget(TuningBudget::kSeconds, [&] { return now; });
  for (const ConvolutionOperation& operation : operations) {
    const TuningBudget::Share share(budget);
    std::vector<double> times;
    for (int i = 0; i < 8 && (times.empty() || !share.is_spent()); ++i) {
      now += 1e-3 * (i % 2 == 1 ? compile_ms : 1);
      times.push_back(estimate_ms(operation) * (1 + 0.43 * ((5 * i + 3) % 8)));
    }
    FakeTimer timer(times);
    const double begin = now;
    const Fastest fastest = find_fastest(times.size(), timer, [&] {
      now = begin + timer.seconds;
      return share.is_spent();
    });
    now = begin + timer.seconds;
    for (const int each : timer.runs) runs += each;
    cut_short += fastest.is_whole && times.size() == 8 ? 0 : 1;
  }
  return now;
}

TEST(TuningByFakeClock, takes_resnet50_at_batch_256_less_than_ten_seconds) {
  for (const double compile_ms : {1.0, 30.0, 300.0, 3000.0}) {
    std::int64_t runs = 0;
    int cut_short = 0;
    const double seconds = seconds_for_resnet50(compile_ms, runs, cut_short);
    std::printf("compiling takes %.0f ms: %.1f s, %lld runs, %d operations not to the end\n", compile_ms, seconds,
                static_cast<long long>(runs), cut_short);
    // One compilation may still be running when an operation's share of the time is over.
    EXPECT_LT(seconds, TuningBudget::kSeconds + (compile_ms > 300 ? 64 * 1e-3 * compile_ms : 0.5)) << compile_ms;
    EXPECT_TRUE(cut_short == 0 || compile_ms > 10) << cut_short;
  }
}

class Remembered final : public PlanChoices {
 public:
  void open(const std::string&) override {}
  std::string find(const std::string& operation) override { return kept.contains(operation) ? kept[operation] : ""; }
  void keep(const std::string& operation, const std::string& choice) override { kept[operation] = choice; }
  std::map<std::string, std::string> kept;
};

class KeptChoices : public testing::Test {
 protected:
  // Chooses as a new process would: only the choices remain from earlier runs.
  template <class What>
  std::string choose(const What& what, Precision precision = Precision::kTf32, bool deterministic = false) {
    counts_ = {};
    const TestStream stream;
    const std::unique_ptr<Libraries> libraries = make_libraries(stream);
    Context context{.stream = stream, .precision = precision, .deterministic = deterministic, .autotune = true};
    context.libraries = libraries.get();
    context.choices = &choices_;
    context.counts = &counts_;
    return LibraryHandles::of(context).plan(context, what)->choice();
  }
  template <class What>
  void expect_new(const What& what, Precision precision = Precision::kTf32, bool deterministic = false) {
    choose(what, precision, deterministic);
    EXPECT_EQ(counts_.from_choices, 0);
    choose(what, precision, deterministic);
    EXPECT_EQ(counts_.from_choices, 1);
    EXPECT_EQ(counts_.timed, 0);
  }
  static ConvolutionOperation convolution() {
    return describe_operation(ConvolutionTask::kForward, {2, {6, 5, 4}, {3, 3, 1, 1}, 7, true, true, 0}, false);
  }
  static Product product() { return forward_product({6, 20, 10, true, true}, true, false); }

  Remembered choices_;
  TuningCounts counts_;
};

TEST_F(KeptChoices, are_taken_without_timing_anything) {
  const std::string first = choose(convolution()), second = choose(product());
  EXPECT_EQ(counts_.timed, 1);
  EXPECT_GT(counts_.seconds, 0);
  EXPECT_EQ(choices_.kept.size(), 2u);
  const long long before = emulated_cuda::operations_run();
  EXPECT_EQ(choose(convolution()), first);
  EXPECT_EQ(choose(product()), second);
  EXPECT_EQ(counts_.from_choices, 1);
  EXPECT_EQ(counts_.timed, 0);
  EXPECT_LT(emulated_cuda::operations_run() - before, 10) << "each runs once, with NaN";
}

TEST_F(KeptChoices, are_those_of_another_run_also_if_they_are_not_what_this_one_would_take) {
  for (const std::string word : {"A 0, engine 0, 1024 bytes", "A 1, engine 1, 2024 bytes"}) {
    choose(convolution());
    choices_.kept.begin()->second = word;
    EXPECT_EQ(choose(convolution()), word);
    EXPECT_EQ(counts_.from_choices, 1);
  }
}

TEST_F(KeptChoices, hold_for_all_that_they_depend_on_and_nothing_else) {
  expect_new(convolution());
  for (const ConvolutionTask task : {ConvolutionTask::kToInput, ConvolutionTask::kToWeights}) {
    ConvolutionOperation other = convolution();
    other.task = task;
    other.bias = other.relu = false;
    expect_new(other);
  }
  for (const auto change : std::vector<void (*)(ConvolutionOperation&)>{
           [](ConvolutionOperation& o) { o.samples = 3; }, [](ConvolutionOperation& o) { o.input[2] = 5; },
           [](ConvolutionOperation& o) { o.output[2] = 8; }, [](ConvolutionOperation& o) { o.bias = false; },
           [](ConvolutionOperation& o) { o.relu = false; }, [](ConvolutionOperation& o) { o.half = true; },
           [](ConvolutionOperation& o) { o.input[0] += 1, o.output[0] += 1; },
           [](ConvolutionOperation& o) { o.window[3] = 0, o.output[0] -= 2, o.output[1] -= 2; }}) {
    ConvolutionOperation other = convolution();
    change(other);
    expect_new(other);
  }
  expect_new(convolution(), Precision::kFp32);
  expect_new(convolution(), Precision::kTf32, true);
  expect_new(product());
  for (const auto change : std::vector<void (*)(Product&)>{
           [](Product& p) { p.n = 7; }, [](Product& p) { p.relu = false; }, [](Product& p) { p.bias = false; },
           [](Product& p) { p.stride_d += 4; }, [](Product& p) { p.half = p.half_result = true; }}) {
    Product other = product();
    change(other);
    expect_new(other);
  }
  expect_new(product(), Precision::kFp32);
  expect_new(product(), Precision::kTf32, true);
}

TEST_F(KeptChoices, that_name_no_candidate_are_made_anew) {
  const std::string right = choose(convolution());
  const std::string operation = choices_.kept.begin()->first;
  for (const std::string wrong :
       {"A 0, engine 5, 1024 bytes", "A 0, engine 0, 4096 bytes", "A 7, engine 0, 1024 bytes", "A -1", "A", "X 0",
        "A x", "A 99999999999999999999", "algorithm 0 0 0 0 0 0 0 0, 1000 bytes"}) {
    choices_.kept[operation] = wrong;
    choose(convolution());
    EXPECT_EQ(counts_.from_choices, 0) << wrong;
    EXPECT_EQ(counts_.timed, 1) << wrong;
    EXPECT_NE(choices_.kept[operation], wrong);
  }
}

TEST_F(KeptChoices, are_not_taken_if_they_drop_nan_or_break_the_rules) {
  choose(convolution());
  choices_.kept.begin()->second = "A 0, engine 0, 1024 bytes";
  setenv("EMULATED_NAN_DROPPED_BY", "cudnn0", 1);
  EXPECT_NE(choose(convolution()), "A 0, engine 0, 1024 bytes");
  unsetenv("EMULATED_NAN_DROPPED_BY");
  EXPECT_EQ(counts_.from_choices, 0);
  choices_.kept.clear();
  choose(convolution(), Precision::kTf32, true);
  choices_.kept.begin()->second = "A 0, engine 0, 1024 bytes";  // engine 0 is not deterministic
  EXPECT_NE(choose(convolution(), Precision::kTf32, true), "A 0, engine 0, 1024 bytes");
}

TEST_F(KeptChoices, are_not_needed_when_memory_for_timing_is_short) {
  setenv("EMULATED_CUDA_MEMORY", "1000", 1);
  ConvolutionOperation operation = convolution();
  operation.relu = false;
  EXPECT_EQ(choose(operation), "A 0, engine 0, 1024 bytes");
  unsetenv("EMULATED_CUDA_MEMORY");
  EXPECT_EQ(choices_.kept.size(), 0u);
  EXPECT_EQ(counts_.timed, 0);
}

TEST(TuningEnvironment, names_the_device_and_the_versions) {
  const std::string text = describe_tuning_environment(0);
  for (const char* part : {"search 1; Emulated GPU, compute capability 9.0, 4 multiprocessors, 4096 MiB",
                           "driver of CUDA 13000", ", CUDA 13000", "cuDNN 91900", "cuBLAS 130000"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace eave::cuda
