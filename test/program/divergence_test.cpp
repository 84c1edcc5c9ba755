// A loss that is not finite ends the run, on every rank and behind every codec.
#include <gtest/gtest.h>

#include "test/program/cases.h"

namespace eave {
namespace {

// Found while training: the start has been printed.
TEST(Divergence, ends_with_76_and_one_message) {
  const Place place;
  Runs runs;
  for (const std::string communicator : {"allreduce", "easgd"}) {
    const std::string words = quick("--lr 500000 --epochs 9 --communicator " + communicator);
    start_all(runs, place, {words, 76, {"training diverged", "try a smaller --lr"}});
  }
  runs.check([](const Ended& ended, const Case& wrong, const std::string& how) {
    Ended quiet = ended;
    quiet.output.clear();
    expect_one_message(quiet, wrong, how);
  });
}

TEST(Divergence, is_noticed_behind_compression) {
  const Place place;
  for (const std::string codec : {"bf16", "fp16", "int8", "top-k"}) {
    const Ended ended =
        place.eave(quick("--lr 500000 --epochs 9 --transport threads --ranks 2 --compression " + codec));
    EXPECT_EQ(ended.code, 76) << codec << ended.errors;
    EXPECT_TRUE(ended.says("training diverged")) << ended.errors;
  }
}

TEST(Divergence, leaves_the_steps_until_then_in_the_metrics) {
  const Place place;
  EXPECT_EQ(place.eave(quick("--lr 500000 --transport threads --ranks 2 --on-nonfinite abort --run-dir run")).code, 76);
  const std::string metrics = place.read("run/metrics.jsonl");
  EXPECT_NE(metrics.find("\"type\":\"step\",\"rank\":1,\"step\":1,"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace eave
