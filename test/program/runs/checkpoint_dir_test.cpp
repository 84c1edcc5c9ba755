// Tests --checkpoint-dir, which puts a run's checkpoints on another disk, and results that a full disk left incomplete.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/program/program.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoWithCheckpoints = "--transport threads --ranks 2 --checkpoint-every 2 ";

void expect_end(const Ended& ended, int code, const std::vector<std::string>& says = {}) {
  EXPECT_EQ(ended.code, code) << ended.errors;
  if (code != 0) {
    EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
  }
  for (const std::string& text : says) EXPECT_TRUE(ended.says(text)) << text << "\n" << ended.errors;
}

TEST(CheckpointDirectory, as_a_link_is_refused_before_anything_is_removed) {
  const Place place;
  const std::string words = quick(std::string(kTwoWithCheckpoints) + "--run-dir run ");
  expect_end(place.eave(words), 0);
  fs::rename(place.path() / "run/checkpoint", place.path() / "large");
  fs::create_symlink("../large", place.path() / "run/checkpoint");
  const std::string summary = place.read("run/summary.json");
  for (const std::string more : {"--overwrite", "--resume --epochs 2", "--resume auto --epochs 2"}) {
    const Ended ended = place.eave(words + more);
    expect_end(ended, 73, {"'checkpoint' is a symbolic link", "--checkpoint-dir " + (place.path() / "large").string()});
    EXPECT_TRUE(fs::exists(place.path() / "large/step-000007/manifest.json")) << more;
    EXPECT_EQ(place.read("run/summary.json"), summary) << more;
  }
  EXPECT_EQ(place.eave("checkpoint verify run").code, 0) << "reading it is safe";
  // This is the command that the message advises.
  expect_end(place.eave(words + "--resume --epochs 2 --checkpoint-dir large"), 0);
  EXPECT_TRUE(fs::exists(place.path() / "large/step-000014/manifest.json"));
  expect_end(place.eave(quick("--run-dir run --overwrite --checkpoint off")), 0);
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(place.path() / "run/checkpoint"))) << "it is not the run's";
}

TEST(CheckpointDirectory, as_a_file_is_refused_before_anything_is_removed) {
  const Place place;
  expect_end(place.eave(quick("--run-dir run --checkpoint off")), 0);
  place.write("run/checkpoint", "a file");
  expect_end(place.eave(quick("--run-dir run --overwrite")), 73, {"it has a file named 'checkpoint'"});
  EXPECT_TRUE(fs::exists(place.path() / "run/summary.json"));
}

TEST(CheckpointDirectory, that_holds_a_run_or_this_run_is_refused) {
  const Place place;
  expect_end(place.eave(quick("--run-dir other")), 0);
  const Ended of_other = place.eave(quick("--run-dir run --checkpoint-dir other"));
  expect_end(of_other, 73, {"--checkpoint-dir ", "holds a run of its own"});
  EXPECT_FALSE(fs::exists(place.path() / "other/run.json"));
  for (const std::string around : {".", "/"}) {
    expect_end(place.eave(quick("--run-dir run --checkpoint-dir " + around)), 64, {"--run-dir run lies in it"});
  }
}

TEST(CheckpointDirectory, that_is_named_is_used_remembered_and_resumed_from) {
  const Place place;
  fs::create_directory(place.path() / "disk");
  fs::create_symlink("disk", place.path() / "link");
  const std::string words = quick(std::string(kTwoWithCheckpoints) + "--run-dir run ");
  expect_end(place.eave(words + "--checkpoint-dir link"), 0);
  EXPECT_TRUE(fs::exists(place.path() / "disk/step-000007/manifest.json"));
  EXPECT_FALSE(fs::exists(place.path() / "run/checkpoint"));
  EXPECT_FALSE(fs::exists(place.path() / "disk/run.lock"));
  const Ended listed = place.eave("checkpoint ls run");
  EXPECT_NE(listed.output.find("           7"), std::string::npos) << listed.output << listed.errors;
  EXPECT_EQ(place.eave("checkpoint verify run --checkpoint-dir disk").code, 0);
  EXPECT_EQ(place.eave("checkpoint export run --safetensors model").code, 0);
  // The checkpoints are found from another working directory and without the option.
  fs::create_directory(place.path() / "elsewhere");
  const Ended resumed = place.run("sh -c 'cd elsewhere; " + program() + " train " + std::string(kQuick) +
                                  kTwoWithCheckpoints + "--run-dir ../run --resume --epochs 2'");
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_TRUE(fs::exists(place.path() / "disk/step-000014/manifest.json"));
  // If the directory was moved, the option names its new place.
  fs::rename(place.path() / "disk", place.path() / "other");
  expect_end(place.eave(words + "--resume auto --epochs 3"), 66, {"is not there; mount that disk"});
  expect_end(place.eave(words + "--resume auto --epochs 3 --checkpoint-dir other"), 0);
  EXPECT_TRUE(fs::exists(place.path() / "other/step-000021/manifest.json"));
  expect_end(place.eave(words + "--resume auto --epochs 4 --checkpoint-dir empty"), 78, {"lie in ", "move them there"});
  // --overwrite replaces eave's files and leaves other files there.
  place.write("other/notes.txt", "mine");
  expect_end(place.eave(words + "--overwrite"), 0);
  EXPECT_EQ(place.read("other/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(place.path() / "other/step-000021"));
  EXPECT_TRUE(fs::exists(place.path() / "run/checkpoint/step-000007"));
}

TEST(CheckpointDirectory, is_of_one_run_alone) {
  const Place place;
  const auto words = [](const std::string& run) {
    return quick(kTwoWithCheckpoints + ("--checkpoint-dir disk --run-dir " + run));
  };
  expect_end(place.eave(words("one")), 0);
  const std::string before = place.read("disk/step-000007/rank-0.state");
  for (const std::string more : {"", " --overwrite", " --resume auto"})
    expect_end(place.eave(words("two") + more), 73, {"holds the checkpoints of the run in ", "/one"});
  fs::copy(place.path() / "one", place.path() / "three", fs::copy_options::recursive);
  expect_end(place.eave(words("three") + " --resume --epochs 2"), 73, {"holds the checkpoints of the run in "});
  expect_end(place.eave(words("three") + " --overwrite"), 73, {"holds the checkpoints of the run in "});
  EXPECT_EQ(place.read("disk/step-000007/rank-0.state"), before);
  fs::remove_all(place.path() / "three");
  // A run that was moved keeps its checkpoints.
  fs::rename(place.path() / "one", place.path() / "four");
  expect_end(place.eave(words("four") + " --resume --epochs 2"), 0);
  fs::remove_all(place.path() / "four");
  expect_end(place.eave(words("five") + " --overwrite"), 73, {"holds checkpoints that are not of the run in "});
  expect_end(place.eave(quick("--run-dir run --checkpoint-dir run/inside")), 64, {"lies in --run-dir run"});
  expect_end(place.eave(quick("--run-dir run --checkpoint off --checkpoint-dir x")), 64, {"has no effect"});
}

TEST(CheckpointDirectory, of_another_run_is_not_read_as_this_ones) {
  const Place place;
  expect_end(place.eave(quick("--run-dir one --checkpoint-dir disk")), 0);
  expect_end(place.eave(quick("--run-dir two")), 0);
  for (const std::string action : {"ls", "verify", "export --safetensors model"}) {
    const std::size_t end = action.find(' ');
    const std::string first = "checkpoint " + action.substr(0, end),
                      more = end == action.npos ? "" : action.substr(end);
    expect_end(place.eave(first + " two --checkpoint-dir disk" + more), 78,
               {"disk holds the checkpoints of the run in ", "/one, not those of the run in two; ask for "});
    // A run whose checkpoints lie in its own directory has no run.json.
    expect_end(place.eave(first + " one --checkpoint-dir two/checkpoint" + more), 78,
               {"two/checkpoint holds the checkpoints of the run in ", "/two, not those of the run in one; ask for "});
  }
  EXPECT_FALSE(fs::exists(place.path() / "model"));
  for (const std::string more : {"--resume --epochs 2", "--resume auto --epochs 2"})
    expect_end(place.eave(quick("--run-dir one --checkpoint-dir two/checkpoint " + more)), 73,
               {"holds the checkpoints of the run in ", "/two"});
  // A run may name its own checkpoints, also behind a link, and the checkpoints of a run that is gone.
  fs::create_symlink("disk", place.path() / "link");
  expect_end(place.eave("checkpoint verify one --checkpoint-dir link"), 0);
  fs::rename(place.path() / "one", place.path() / "moved");
  expect_end(place.eave("checkpoint verify moved --checkpoint-dir disk"), 0);
  // A copy of a run has no checkpoints of its own.
  fs::rename(place.path() / "moved", place.path() / "one");
  fs::copy(place.path() / "one", place.path() / "copy", fs::copy_options::recursive);
  expect_end(place.eave("checkpoint ls copy"), 78, {"disk holds the checkpoints of the run in ", "/one, not those of"});
}

// After a restart of the machine the directory may be missing, or be the empty mount point of its disk.
TEST(CheckpointDirectory, whose_disk_is_gone_is_named_with_the_remedy) {
  const Place place;
  expect_end(place.eave(quick("--run-dir run --checkpoint-dir disk/of-run")), 0);
  fs::rename(place.path() / "disk", place.path() / "away");
  const auto expect_named = [&](const std::string& state) {
    const std::vector<std::string> says = {
        "the checkpoints of the run in run lie in " + (place.path() / "disk/of-run").string() + " (its config.json)",
        state + "; mount that disk, or say by --checkpoint-dir where they lie now"};
    for (const std::string words : {"checkpoint ls run", "checkpoint verify run", "checkpoint export run --npy arrays"})
      expect_end(place.eave(words), 66, says);
    for (const std::string more : {"--resume --epochs 2", "--resume auto --epochs 2"})
      expect_end(place.eave(quick("--run-dir run " + more)), 66, says);
    expect_end(place.eave("checkpoint verify run --checkpoint-dir away/of-run"), 0);
  };
  expect_named("which is not there");
  fs::create_directories(place.path() / "disk/of-run");
  expect_named("which is there without its run.json");
  expect_end(place.eave("checkpoint ls run --checkpoint-dir nowhere"), 66,
             {"--checkpoint-dir nowhere is no directory that is there; mount its disk, or name the directory"});
}

// Files of this process cannot be larger than 30 kB. The model fits. The optimizer state with its momentum does not.
TEST(Checkpoints, of_which_none_could_be_written_end_the_run_with_74_after_its_results) {
  const Place place;
  const Ended ended = place.run("sh -c 'ulimit -f 60; exec \"$@\"' sh " + program() + " " +
                                quick("--run-dir run --log-every 100 --model \"flatten; dense 64; dense classes\""));
  expect_end(ended, 74,
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
    expect_end(failed, 74, {"run/model.safetensors.partial"});
    EXPECT_FALSE(fs::exists(place.path() / "run/summary.json"));
    EXPECT_EQ(place.read("run/metrics.jsonl").find("\"type\":\"end\""), std::string::npos);
    EXPECT_NE(place.read("run/metrics.jsonl").find("\"type\":\"failure\""), std::string::npos);
    fs::remove_all(place.path() / "run/model.safetensors.partial");
    expect_end(place.eave(words + "--resume auto"), 0);
    EXPECT_TRUE(fs::exists(place.path() / "run/model.safetensors"));
    EXPECT_TRUE(fs::exists(place.path() / "run/summary.json"));
    const Ended again = place.eave(words + "--resume auto");
    expect_end(again, 0);
    EXPECT_NE(again.output.find("has ended; nothing is left to do"), std::string::npos) << again.output;
    fs::remove_all(place.path() / "run");
  }
}

// Earlier versions could leave a summary and an `end` line without a model.
TEST(Results, of_which_the_model_is_gone_are_made_again) {
  const Place place;
  const std::string words = quick("--run-dir run --checkpoint off ");
  expect_end(place.eave(words), 0);
  fs::remove(place.path() / "run/model.safetensors");
  expect_end(place.eave("summary run"), 0, {"warning: run: model.safetensors is missing"});
  expect_end(place.eave(quick("--run-dir run --resume auto")), 0);
  EXPECT_TRUE(fs::exists(place.path() / "run/model.safetensors"));
}

}  // namespace
}  // namespace eave
