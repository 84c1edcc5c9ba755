// TensorBoard itself reads the event files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

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
  expect_end(0, place.eave(words + "--epochs 2"));
  expect_end(0, place.eave(words + "--epochs 3 --resume"));
  EXPECT_EQ(event_files(place), 2);
  const Ended read = expect_end(0, place.run(python + " " + script("tensorboard_scalars.py") + " run"));
  const Json scalars = Json::parse(read.output);
  std::size_t evaluations = 0;
  for (const Json& line : records_of(place, "evaluation")) {
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
  expect_end(64, place.eave(quick("--tensorboard")));
  expect_end(0, place.eave(quick("--run-dir run --tensorboard --max-steps 2")));
  EXPECT_EQ(event_files(place), 1);
  place.write("run/events.out.tfevents.1.host", "of another program");
  expect_end(0, place.eave(quick("--run-dir run --overwrite --max-steps 2")));
  EXPECT_EQ(event_files(place), 1) << "that of the other program alone";
}

}  // namespace
}  // namespace eave
