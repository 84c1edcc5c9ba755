// TensorBoard itself reads the event files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "test/program/program.h"

namespace eave {
namespace {

using Json = nlohmann::json;

int event_files(const Place& place) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path() / "run"))
    count += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
  return count;
}

TEST(TensorBoard, reads_the_evaluations_and_steps_of_metrics_jsonl) {
  const Place place;
  const std::string python = python_with(place, "tensorboard");
  if (python.empty()) GTEST_SKIP() << "no Python here has the package tensorboard (pip install tensorboard)";
  const std::string words = quick("--run-dir run --tensorboard --communicator easgd --tau 2 --validation-share 0.1 ");
  ASSERT_EQ(place.eave(words + "--epochs 2").code, 0);
  ASSERT_EQ(place.eave(words + "--epochs 3 --resume").code, 0);
  EXPECT_EQ(event_files(place), 2);
  const Ended read = place.run(python + " " + script("tensorboard_scalars.py") + " run");
  ASSERT_EQ(read.code, 0) << read.errors;
  const Json scalars = Json::parse(read.output);
  std::istringstream lines(place.read("run/metrics.jsonl"));
  std::size_t evaluations = 0;
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text);
    if (line.at("type") != "evaluation") continue;
    for (const auto& [tag, model] : std::map<std::string, std::string>{
             {"center", "center"}, {"mean", "mean_of_workers"}, {"best_worker", "best_worker"}}) {
      for (const std::string measure : {"accuracy", "loss"}) {
        const Json& event = scalars.at("test/" + measure + "/" + tag).at(evaluations);
        EXPECT_EQ(event.at(0), line.at("step"));
        EXPECT_EQ(event.at(1).get<float>(), line.at(model).at(measure).get<float>());
      }
    }
    EXPECT_EQ(scalars.at("validation/accuracy").at(evaluations).at(1).get<float>(),
              line.at("validation").at("accuracy").get<float>());
    ++evaluations;
  }
  EXPECT_EQ(evaluations, 3u);
  EXPECT_EQ(scalars.at("loss").at(0).at(0), 1) << "the first step at once";
  EXPECT_EQ(scalars.at("learning_rate").at(0).at(1).get<float>(), 0.05F);
}

TEST(TensorBoard, files_are_the_runs_and_need_its_directory) {
  const Place place;
  EXPECT_EQ(place.eave(quick("--tensorboard")).code, 64);
  ASSERT_EQ(place.eave(quick("--run-dir run --tensorboard --max-steps 2")).code, 0);
  EXPECT_EQ(event_files(place), 1);
  place.write("run/events.out.tfevents.1.host", "of another program");
  ASSERT_EQ(place.eave(quick("--run-dir run --overwrite --max-steps 2")).code, 0);
  EXPECT_EQ(event_files(place), 1) << "that of the other program alone";
}

}  // namespace
}  // namespace eave
