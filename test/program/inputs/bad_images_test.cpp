// Runs the program on folders in which some images are damaged.
#include <gtest/gtest.h>

#include <filesystem>

#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const std::string kTrain =
    "train --data image-folder --data-dir images --progress off --model 'flatten; dense classes' --batch 1 "
    "--image-size 4 --device cpu ";
const std::string kThreads = " --transport threads --ranks 2";

// Writes eight images. Two of them cannot be decoded, although their headers are right.
void write_spoilt(const Place& place) {
  write_image_folder(place, "images", [](const std::string& name, std::string& bytes) {
    if (name == "train/b/2.png" || name == "test/a/1.png") bytes.resize(bytes.size() - 20);
  });
  place.write("images/train/a/notes.txt", "blurred");
}

TEST(BadImages, are_all_named_before_training_in_one_message) {
  const Place place;
  write_spoilt(place);
  for (const std::string& words : {std::string(), kThreads}) {
    expect_end(65, place.eave(kTrain + "--run-dir run" + words),
               {"2 of 8 images cannot be used:", "train/b/2.png cannot be read", "test/a/1.png cannot be read",
                "--on-bad-image skip"});
    EXPECT_FALSE(fs::exists(place.path() / "run")) << "nothing has begun";
  }
}

TEST(BadImages, that_are_skipped_may_be_removed_and_the_run_goes_on_to_the_same_model) {
  const Place place;
  write_spoilt(place);
  const std::string skip = kTrain + "--on-bad-image skip" + kThreads;
  const Ended whole = expect_end(0, place.eave(skip + " --epochs 4 --run-dir whole"),
                                 {"2 of 8 images cannot be used:", "--on-bad-image skip leaves them out"});
  expect_parts(whole.output, {"3 training", "passed over: 1 entry that is no JPEG or PNG (train/a/notes.txt)"});
  expect_end(0, place.eave(skip + " --epochs 2 --run-dir run"));
  expect_output(0, place.eave(skip + " --epochs 3 --resume --run-dir run"), {"their files have not changed since"});
  for (const char* name : {"train/b/2.png", "test/a/1.png"}) fs::remove(place.path() / "images" / name);
  expect_end(0, place.eave(kTrain + kThreads + " --epochs 4 --resume --run-dir run"));
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

TEST(BadImages, come_to_the_same_list_on_ranks_under_mpirun) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  write_spoilt(place);
  expect_end(65, place.eave(kTrain, {2}), {"2 of 8 images cannot be used:"});
  expect_end(0, place.eave(kTrain + "--on-bad-image skip", {2}));
}

TEST(BadImages, with_late_are_met_when_they_are_read) {
  const Place place;
  write_spoilt(place);
  expect_end(65, place.eave(kTrain + "--on-bad-image late --epochs 1"), {"cannot be read: it is truncated"});
}

// The message about a damaged image advises to remove it. Here the image goes between a run and its resumption.
TEST(BadImages, that_are_removed_in_the_middle_of_a_run_leave_a_way_on) {
  const Place place;
  write_image_folder(place, "images", [](const std::string&, std::string&) {});
  expect_end(0, place.eave(kTrain + kThreads + " --epochs 2 --run-dir run"));
  fs::remove(place.path() / "images/train/b/2.png");
  const std::string more = kTrain + kThreads + " --epochs 6 --run-dir run ";
  expect_end(78, place.eave(more + "--resume"), {"--resume elastic goes on with them"});
  const Ended elastic = expect_end(
      0, place.eave(more + "--resume elastic"),
      {"it has now 3 training images, and had 4", "it goes on at epoch 2.67 of these, after epoch 2.00 of those"});
  fs::rename(place.path() / "images/train/b", place.path() / "images/train/c");
  fs::rename(place.path() / "images/test/b", place.path() / "images/test/c");
  EXPECT_EQ(place.eave(kTrain + kThreads + " --epochs 9 --run-dir run --resume elastic").code, 78) << "other classes";
}

// Added in the middle of a run. Lines and checkpoints count the samples that were trained on, and a length in steps is
// not reached before so many steps were taken.
TEST(AddedImages, leave_a_run_the_steps_that_it_was_asked_for) {
  const Place place;
  write_image_folder(place, "images", [](const std::string&, std::string&) {});
  const std::string words = kTrain + kThreads + " --log-every 1 --run-dir run ";
  expect_end(0, place.eave(words + "--max-steps 3"));
  for (const std::string name : {"train/a/", "train/b/"}) {
    const fs::path folder = place.path() / "images" / name;
    for (const char* added : {"3.png", "4.png"}) fs::copy(folder / "2.png", folder / added);
  }
  const Ended ended = expect_end(0, place.eave(words + "--max-steps 4 --resume elastic"),
                                 {"it goes on at epoch 0.75 of these, after epoch 1.50 of those"});
  expect_parts(ended.output, {"after step 3"});
  const nlohmann::json last = records_of(place, "step").back();
  EXPECT_EQ(last.at("step"), 4);
  EXPECT_EQ(last.at("samples"), 8);
  EXPECT_EQ(last.at("epoch"), 1);
}

// Which images are held out depends on how many there are. So the run would be validated on images that it has trained
// on.
TEST(BadImages, that_are_removed_in_the_middle_of_a_run_end_one_that_holds_some_out) {
  const Place place;
  write_image_folder(place, "images", [](const std::string&, std::string&) {});
  const std::string train = kTrain + kThreads + " --validation-share 0.3 --run-dir run ";
  expect_end(0, place.eave(train + "--epochs 2"));
  fs::remove(place.path() / "images/train/b/2.png");
  expect_end(78, place.eave(train + "--epochs 6 --resume elastic"), {"--validation-share would hold out other images"});
}

TEST(BadImages, are_found_by_doctor_if_it_is_asked_to_decode) {
  const Place place;
  write_spoilt(place);
  const std::string doctor = "doctor --device cpu --data image-folder --data-dir images ";
  const auto line_of_data = [](const Ended& ended) {
    const std::size_t at = ended.output.find("  data  ");
    const std::size_t begin = ended.output.rfind('\n', at) + 1;
    return at == std::string::npos ? ended.output : ended.output.substr(begin, ended.output.find('\n', at) - begin);
  };
  const Ended without = place.eave(doctor);
  EXPECT_TRUE(line_of_data(without).starts_with("note")) << without.output;
  expect_parts(line_of_data(without), {"images were not decoded: --check-images looks at all"});
  for (const std::string& words : {std::string("--check-images"), "--check-images" + kThreads}) {
    const Ended ended = expect_end(65, place.eave(doctor + words));
    EXPECT_NE(line_of_data(ended).find("2 of 8 images cannot be used:"), std::string::npos) << ended.output;
    expect_parts(ended.output, {"train/b/2.png", "test/a/1.png"});
  }
  for (const char* name : {"train/b/2.png", "test/a/1.png"}) fs::remove(place.path() / "images" / name);
  const Ended well = place.eave(doctor + "--check-images");
  EXPECT_TRUE(line_of_data(well).starts_with("ok")) << well.output;
  EXPECT_NE(line_of_data(well).find("6 of 6 images are whole"), std::string::npos) << well.output;
  expect_end(64, place.eave("doctor --check-images"));
}

}  // namespace
}  // namespace eave
