// Tests --checkpoint-dir, which puts a run's checkpoints on another disk, and results that a full disk left incomplete.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoWithCheckpoints = "--transport threads --ranks 2 --checkpoint-every 2 ";

TEST(CheckpointDirectory, as_a_link_is_refused_before_anything_is_removed) {
  const Place place;
  const std::string words = quick(std::string(kTwoWithCheckpoints) + "--run-dir run ");
  expect_end(0, place.eave(words));
  fs::rename(place.path() / "run/checkpoint", place.path() / "large");
  fs::create_symlink("../large", place.path() / "run/checkpoint");
  const std::string summary = place.read("run/summary.json");
  for (const std::string more : {"--overwrite", "--resume --epochs 2", "--resume auto --epochs 2"}) {
    const Ended ended = place.eave(words + more);
    expect_end(73, ended, {"'checkpoint' is a symbolic link", "--checkpoint-dir " + (place.path() / "large").string()});
    EXPECT_TRUE(fs::exists(place.path() / "large/step-000007/manifest.json")) << more;
    EXPECT_EQ(place.read("run/summary.json"), summary) << more;
  }
  EXPECT_EQ(place.eave("checkpoint verify run").code, 0) << "reading it is safe";
  // This is the command that the message advises.
  expect_end(0, place.eave(words + "--resume --epochs 2 --checkpoint-dir large"));
  EXPECT_TRUE(fs::exists(place.path() / "large/step-000014/manifest.json"));
  expect_end(0, place.eave(quick("--run-dir run --overwrite --checkpoint off")));
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(place.path() / "run/checkpoint"))) << "it is not the run's";
}

TEST(CheckpointDirectory, as_a_file_is_refused_before_anything_is_removed) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --checkpoint off")));
  place.write("run/checkpoint", "a file");
  expect_end(73, place.eave(quick("--run-dir run --overwrite")), {"it has a file named 'checkpoint'"});
  EXPECT_TRUE(fs::exists(place.path() / "run/summary.json"));
}

TEST(CheckpointDirectory, that_holds_a_run_or_this_run_is_refused) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir other")));
  const Ended of_other = place.eave(quick("--run-dir run --checkpoint-dir other"));
  expect_end(73, of_other, {"--checkpoint-dir ", "holds a run of its own"});
  EXPECT_FALSE(fs::exists(place.path() / "other/run.json"));
  for (const std::string around : {".", "/"}) {
    expect_end(64, place.eave(quick("--run-dir run --checkpoint-dir " + around)), {"--run-dir run lies in it"});
  }
}

TEST(CheckpointDirectory, that_is_named_is_used_remembered_and_resumed_from) {
  const Place place;
  fs::create_directory(place.path() / "disk");
  fs::create_symlink("disk", place.path() / "link");
  const std::string words = quick(std::string(kTwoWithCheckpoints) + "--run-dir run ");
  expect_end(0, place.eave(words + "--checkpoint-dir link"));
  EXPECT_TRUE(fs::exists(place.path() / "disk/step-000007/manifest.json"));
  EXPECT_FALSE(fs::exists(place.path() / "run/checkpoint"));
  EXPECT_FALSE(fs::exists(place.path() / "disk/run.lock"));
  const Ended listed = place.eave("checkpoint ls run");
  expect_parts(listed.output, {"           7"});
  expect_end(0, place.eave("checkpoint verify run --checkpoint-dir disk"));
  expect_end(0, place.eave("checkpoint export run --safetensors model"));
  // The checkpoints are found from another working directory and without the option.
  fs::create_directory(place.path() / "elsewhere");
  expect_end(0, place.run("sh -c 'cd elsewhere; " + program() + " train " + std::string(kQuick) + kTwoWithCheckpoints +
                          "--run-dir ../run --resume --epochs 2'"));
  EXPECT_TRUE(fs::exists(place.path() / "disk/step-000014/manifest.json"));
  // If the directory was moved, the option names its new place.
  fs::rename(place.path() / "disk", place.path() / "other");
  expect_end(66, place.eave(words + "--resume auto --epochs 3"), {"is not there; mount that disk"});
  expect_end(0, place.eave(words + "--resume auto --epochs 3 --checkpoint-dir other"));
  EXPECT_TRUE(fs::exists(place.path() / "other/step-000021/manifest.json"));
  expect_end(78, place.eave(words + "--resume auto --epochs 4 --checkpoint-dir empty"), {"lie in ", "move them there"});
  // --overwrite replaces eave's files and leaves other files there.
  place.write("other/notes.txt", "mine");
  expect_end(0, place.eave(words + "--overwrite"));
  EXPECT_EQ(place.read("other/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(place.path() / "other/step-000021"));
  EXPECT_TRUE(fs::exists(place.path() / "run/checkpoint/step-000007"));
}

TEST(CheckpointDirectory, is_of_one_run_alone) {
  const Place place;
  const auto words = [](const std::string& run) {
    return quick(kTwoWithCheckpoints + ("--checkpoint-dir disk --run-dir " + run));
  };
  expect_end(0, place.eave(words("one")));
  const std::string before = place.read("disk/step-000007/rank-0.state");
  for (const std::string more : {"", " --overwrite", " --resume auto"})
    expect_end(73, place.eave(words("two") + more), {"holds the checkpoints of the run in ", "/one"});
  fs::copy(place.path() / "one", place.path() / "three", fs::copy_options::recursive);
  expect_end(73, place.eave(words("three") + " --resume --epochs 2"), {"holds the checkpoints of the run in "});
  expect_end(73, place.eave(words("three") + " --overwrite"), {"holds the checkpoints of the run in "});
  EXPECT_EQ(place.read("disk/step-000007/rank-0.state"), before);
  fs::remove_all(place.path() / "three");
  // A run that was moved keeps its checkpoints.
  fs::rename(place.path() / "one", place.path() / "four");
  expect_end(0, place.eave(words("four") + " --resume --epochs 2"));
  fs::remove_all(place.path() / "four");
  expect_end(73, place.eave(words("five") + " --overwrite"), {"holds checkpoints that are not of the run in "});
  expect_end(64, place.eave(quick("--run-dir run --checkpoint-dir run/inside")), {"lies in --run-dir run"});
  expect_end(64, place.eave(quick("--run-dir run --checkpoint off --checkpoint-dir x")), {"has no effect"});
}

TEST(CheckpointDirectory, of_another_run_is_not_read_as_this_ones) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir one --checkpoint-dir disk")));
  expect_end(0, place.eave(quick("--run-dir two")));
  for (const std::string action : {"ls", "verify", "export --safetensors model"}) {
    const std::size_t end = action.find(' ');
    const std::string first = "checkpoint " + action.substr(0, end),
                      more = end == action.npos ? "" : action.substr(end);
    expect_end(78, place.eave(first + " two --checkpoint-dir disk" + more),
               {"disk holds the checkpoints of the run in ", "/one, not those of the run in two; ask for "});
    // A run whose checkpoints lie in its own directory has no run.json.
    expect_end(78, place.eave(first + " one --checkpoint-dir two/checkpoint" + more),
               {"two/checkpoint holds the checkpoints of the run in ", "/two, not those of the run in one; ask for "});
  }
  EXPECT_FALSE(fs::exists(place.path() / "model"));
  for (const std::string more : {"--resume --epochs 2", "--resume auto --epochs 2"})
    expect_end(73, place.eave(quick("--run-dir one --checkpoint-dir two/checkpoint " + more)),
               {"holds the checkpoints of the run in ", "/two"});
  // A run may name its own checkpoints, also behind a link, and the checkpoints of a run that is gone.
  fs::create_symlink("disk", place.path() / "link");
  expect_end(0, place.eave("checkpoint verify one --checkpoint-dir link"));
  fs::rename(place.path() / "one", place.path() / "moved");
  expect_end(0, place.eave("checkpoint verify moved --checkpoint-dir disk"));
  // A copy of a run has no checkpoints of its own.
  fs::rename(place.path() / "moved", place.path() / "one");
  fs::copy(place.path() / "one", place.path() / "copy", fs::copy_options::recursive);
  expect_end(78, place.eave("checkpoint ls copy"), {"disk holds the checkpoints of the run in ", "/one, not those of"});
}

// After a restart of the machine the directory may be missing, or be the empty mount point of its disk.
TEST(CheckpointDirectory, whose_disk_is_gone_is_named_with_the_remedy) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --checkpoint-dir disk/of-run")));
  fs::rename(place.path() / "disk", place.path() / "away");
  const auto expect_named = [&](const std::string& state) {
    const std::vector<std::string> says = {
        "the checkpoints of the run in run lie in " + (place.path() / "disk/of-run").string() + " (its config.json)",
        state + "; mount that disk, or say by --checkpoint-dir where they lie now"};
    for (const std::string words : {"checkpoint ls run", "checkpoint verify run", "checkpoint export run --npy arrays"})
      expect_end(66, place.eave(words), says);
    for (const std::string more : {"--resume --epochs 2", "--resume auto --epochs 2"})
      expect_end(66, place.eave(quick("--run-dir run " + more)), says);
    expect_end(0, place.eave("checkpoint verify run --checkpoint-dir away/of-run"));
  };
  expect_named("which is not there");
  fs::create_directories(place.path() / "disk/of-run");
  expect_named("which is there without its run.json");
  expect_end(66, place.eave("checkpoint ls run --checkpoint-dir nowhere"),
             {"--checkpoint-dir nowhere is no directory that is there; mount its disk, or name the directory"});
}

// Files of this process cannot be larger than 30 kB. The model fits. The optimizer state with its momentum does not.
TEST(Checkpoints, of_which_none_could_be_written_end_the_run_with_74_after_its_results) {
  const Place place;
  const Ended ended = place.run("sh -c 'ulimit -f 60; exec \"$@\"' sh " + program() + " " +
                                quick("--run-dir run --log-every 100 --model \"flatten; dense 64; dense classes\""));
  expect_end(74, ended,
             {"no checkpoint of this run could be written (1 tried", "File too large; a limit on the size of"});
  EXPECT_TRUE(fs::exists(place.path() / "run/summary.json"));
  EXPECT_TRUE(fs::exists(place.path() / "run/model.safetensors"));
}

// A foreign directory stands where eave writes the model.
TEST(Results, without_a_model_are_not_an_end) {
  const Place place;
  const std::string words = quick("--run-dir run ");
  for (const std::string checkpoint : {"", "--checkpoint off "}) {
    place.write("run/metrics.jsonl", "");
    place.write("run/model.safetensors.partial/taken", "");
    const Ended failed = place.eave(words + checkpoint + "--overwrite");
    expect_end(74, failed, {"run/model.safetensors.partial"});
    EXPECT_FALSE(fs::exists(place.path() / "run/summary.json"));
    EXPECT_EQ(place.read("run/metrics.jsonl").find("\"type\":\"end\""), std::string::npos);
    expect_parts(place.read("run/metrics.jsonl"), {"\"type\":\"failure\""});
    fs::remove_all(place.path() / "run/model.safetensors.partial");
    expect_end(0, place.eave(words + "--resume auto"));
    EXPECT_TRUE(fs::exists(place.path() / "run/model.safetensors"));
    EXPECT_TRUE(fs::exists(place.path() / "run/summary.json"));
    const Ended again = place.eave(words + "--resume auto");
    expect_end(0, again);
    expect_parts(again.output, {"has ended; nothing is left to do"});
    fs::remove_all(place.path() / "run");
  }
}

// Earlier versions could leave a summary and an `end` line without a model.
TEST(Results, of_which_the_model_is_gone_are_made_again) {
  const Place place;
  const std::string words = quick("--run-dir run --checkpoint off ");
  expect_end(0, place.eave(words));
  fs::remove(place.path() / "run/model.safetensors");
  expect_end(0, place.eave("summary run"), {"warning: run: model.safetensors is missing"});
  expect_end(0, place.eave(quick("--run-dir run --resume auto")));
  EXPECT_TRUE(fs::exists(place.path() / "run/model.safetensors"));
}

}  // namespace
}  // namespace eave
