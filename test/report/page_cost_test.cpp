// Tests the cost of the page for 40 runs of 20,000 steps and 400 evaluations each: at most 5 s and 2 MB.
#include <gtest/gtest.h>

#include <chrono>

#include "report/page/page.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

constexpr int kSteps = 20000;

// Returns a run whose accuracies have as many digits as real ones.
MadeRun long_run(int number) {
  MadeRun run{.communicator = number % 2 == 0 ? "easgd" : "allreduce",
              .ranks = 1 + number / 20,
              .seed = number % 5,
              .seconds = 1234.5,
              .samples = 60000,
              .bytes = std::int64_t{1} << 40,
              .settings = {{"momentum", std::to_string(number / 5)}},
              .first_step = kSteps};
  for (int i = 1; i <= 400; ++i) run.accuracies.push_back(1 - 1 / (1.2345 + i / 3.0 + number));
  run.validation = run.accuracies;
  return run;
}

// Returns step lines that go before the lines of long_run. Each says that one sample was seen, so the count never
// falls.
std::string many_steps() {
  std::string text;
  for (int i = 1; i <= kSteps; ++i) {
    const std::string number = std::to_string(10000 + i);
    text += "{\"type\":\"step\",\"rank\":0,\"step\":" + std::to_string(i) +
            ",\"samples\":1,\"epoch\":1.6666666666666667e-05,\"loss\":2.4349019066024" + number +
            ",\"learning_rate\":0.05,\"seconds\":" + std::to_string(1e-5 * i) + ",\"computing\":0.00000333" + number +
            ",\"exchanging\":0.00000123456,\"waiting\":0.0000012345678,\"loading\":0.000001234567,\"bytes\":0}\n";
  }
  return text;
}

TEST(Page, of_40_runs_of_20000_steps_is_made_in_5_s_and_has_at_most_2_mb) {
  const MadeRuns place;
  const std::string steps = many_steps();
  for (int number = 0; number < 40; ++number) {
    const std::string name = "run" + std::to_string(number);
    make_run(place, name, long_run(number));
    std::string metrics = place.read(name + "/metrics.jsonl");
    place.write(name + "/metrics.jsonl", metrics.insert(metrics.find('\n') + 1, steps));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string page = report_page(compare_runs(read_made(place), {}), {"runs", "", ""});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("bytes", std::to_string(page.size()));
  EXPECT_LE(seconds, 5);
  EXPECT_LE(page.size(), 2'000'000u);
  EXPECT_GE(page.size(), 500'000u);
}

}  // namespace
}  // namespace eave
