// Runs the program on folders in which some images are damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "test/program/program.h"
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
    const Ended ended = place.eave(kTrain + "--run-dir run" + words);
    EXPECT_EQ(ended.code, 65) << ended.errors;
    EXPECT_TRUE(ended.says("2 of 8 images cannot be used:")) << ended.errors;
    EXPECT_TRUE(ended.says("train/b/2.png cannot be read") && ended.says("test/a/1.png cannot be read"))
        << ended.errors;
    EXPECT_TRUE(ended.says("--on-bad-image skip")) << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1U) << ended.errors;
    EXPECT_FALSE(fs::exists(place.path() / "run")) << "nothing has begun";
  }
}

TEST(BadImages, that_are_skipped_may_be_removed_and_the_run_goes_on_to_the_same_model) {
  const Place place;
  write_spoilt(place);
  const std::string skip = kTrain + "--on-bad-image skip" + kThreads;
  const Ended whole = place.eave(skip + " --epochs 4 --run-dir whole");
  ASSERT_EQ(whole.code, 0) << whole.errors;
  EXPECT_TRUE(whole.says("2 of 8 images cannot be used:") && whole.says("--on-bad-image skip leaves them out"))
      << whole.errors;
  EXPECT_NE(whole.output.find("3 training"), std::string::npos) << whole.output;
  EXPECT_NE(whole.output.find("passed over: 1 entry that is no JPEG or PNG (train/a/notes.txt)"), std::string::npos)
      << whole.output;
  ASSERT_EQ(place.eave(skip + " --epochs 2 --run-dir run").code, 0);
  const Ended again = place.eave(skip + " --epochs 3 --resume --run-dir run");
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_NE(again.output.find("their files have not changed since"), std::string::npos) << again.output;
  for (const char* name : {"train/b/2.png", "test/a/1.png"}) fs::remove(place.path() / "images" / name);
  const Ended rest = place.eave(kTrain + kThreads + " --epochs 4 --resume --run-dir run");
  ASSERT_EQ(rest.code, 0) << rest.errors;
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

TEST(BadImages, come_to_the_same_list_on_ranks_under_mpirun) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  write_spoilt(place);
  const Ended ended = place.eave(kTrain, {2});
  EXPECT_EQ(ended.code, 65) << ended.errors;
  EXPECT_TRUE(ended.says("2 of 8 images cannot be used:")) << ended.errors;
  EXPECT_EQ(place.eave(kTrain + "--on-bad-image skip", {2}).code, 0);
}

TEST(BadImages, with_late_are_met_when_they_are_read) {
  const Place place;
  write_spoilt(place);
  const Ended ended = place.eave(kTrain + "--on-bad-image late --epochs 1");
  EXPECT_EQ(ended.code, 65) << ended.errors;
  EXPECT_TRUE(ended.says("cannot be read: it is truncated")) << ended.errors;
}

// The message about a damaged image advises to remove it. Here the image goes between a run and its resumption.
TEST(BadImages, that_are_removed_in_the_middle_of_a_run_leave_a_way_on) {
  const Place place;
  write_image_folder(place, "images", [](const std::string&, std::string&) {});
  ASSERT_EQ(place.eave(kTrain + kThreads + " --epochs 2 --run-dir run").code, 0);
  fs::remove(place.path() / "images/train/b/2.png");
  const std::string more = kTrain + kThreads + " --epochs 6 --run-dir run ";
  const Ended strict = place.eave(more + "--resume");
  EXPECT_EQ(strict.code, 78) << strict.errors;
  EXPECT_TRUE(strict.says("--resume elastic goes on with them")) << strict.errors;
  const Ended elastic = place.eave(more + "--resume elastic");
  EXPECT_EQ(elastic.code, 0) << elastic.errors;
  EXPECT_TRUE(elastic.says("it has now 3 training images, and had 4")) << elastic.errors;
  fs::rename(place.path() / "images/train/b", place.path() / "images/train/c");
  fs::rename(place.path() / "images/test/b", place.path() / "images/test/c");
  EXPECT_EQ(place.eave(kTrain + kThreads + " --epochs 9 --run-dir run --resume elastic").code, 78) << "other classes";
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
  EXPECT_NE(line_of_data(without).find("images were not decoded: --check-images looks at all"), std::string::npos);
  for (const std::string& words : {std::string("--check-images"), "--check-images" + kThreads}) {
    const Ended ended = place.eave(doctor + words);
    EXPECT_EQ(ended.code, 65) << ended.output;
    EXPECT_NE(line_of_data(ended).find("2 of 8 images cannot be used:"), std::string::npos) << ended.output;
    for (const char* name : {"train/b/2.png", "test/a/1.png"})
      EXPECT_NE(ended.output.find(name), std::string::npos) << ended.output;
  }
  for (const char* name : {"train/b/2.png", "test/a/1.png"}) fs::remove(place.path() / "images" / name);
  const Ended well = place.eave(doctor + "--check-images");
  EXPECT_TRUE(line_of_data(well).starts_with("ok")) << well.output;
  EXPECT_NE(line_of_data(well).find("6 of 6 images are whole"), std::string::npos) << well.output;
  EXPECT_EQ(place.eave("doctor --check-images").code, 64);
}

}  // namespace
}  // namespace eave
