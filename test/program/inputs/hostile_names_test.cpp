// Tests names that would begin a new line or move a terminal's cursor, in every place where the program takes a name.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/printable.h"
#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const std::string kPlanted = "eave: all is well";
// The names hold a line end, a carriage return, an escape sequence, U+202E and a tab. The first also holds a byte that
// is no UTF-8.
const std::string kName = "a\n" + kPlanted + "\r" + kPlanted + "\x1b[31m\xe2\x80\xae\t\xffz";
const std::string kTextName = "a\n" + kPlanted + "\r" + kPlanted + "\x1b[31m\xe2\x80\xae\tz";  // all UTF-8

std::string quoted(const std::string& text) { return "'" + text + "'"; }

void expect_clean(const Ended& ended, const std::string& what) {
  for (const std::string& text : {ended.output, ended.errors}) {
    EXPECT_EQ(printable_lines(text), text) << what;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t begin = line.find_first_not_of(" \t");
      EXPECT_FALSE(begin != std::string::npos && line.compare(begin, kPlanted.size(), kPlanted) == 0)
          << what << ": a name begins the line '" << line << "' of\n"
          << text;
    }
  }
}

class Names : public testing::Test {
 protected:
  // Runs the command. Expects exit code `code`, one message if it failed, and no raw bytes of the name in any output.
  Ended expect(const std::string& words, int code, const std::string& environment = "") const {
    Ended ended = place_.eave(words, {0, environment});
    EXPECT_EQ(ended.code, code) << words << "\n" << ended.output << ended.errors;
    EXPECT_EQ(ended.messages().size(), code == 0 ? 0U : 1U) << words << "\n" << ended.errors;
    expect_clean(ended, words);
    return ended;
  }
  // Expects the same, and that the message shows the name in printable form.
  void expect_named(const std::string& words, int code, const std::string& environment = "") const {
    expect_parts(expect(words, code, environment).errors, {"eave: all is well"});
  }
  const Place place_;
};

TEST_F(Names, of_run_directories) {
  const std::string run = quoted(kName), other = quoted(kTextName);
  for (const std::string& name : {run, other}) expect(quick("--communicator easgd --trace --run-dir " + name), 0);
  expect(quick("--communicator easgd --trace --resume auto --run-dir " + run), 0);
  expect(quick("--run-dir " + run), 73);
  expect(quick("--resume --epochs 3 --lr 0.2 --run-dir " + run), 78);
  expect("summary " + run + " " + other + " missing", 0);
  expect("report " + run + " " + other + " --html none", 0);
  expect("watch " + run + " --once --plot off", 0);
  expect("watch " + run + " --interval 50ms", 0);
  expect("plan " + run, 0);
  expect("checkpoint ls " + run, 0);
  expect("checkpoint verify " + run, 0);
  expect_named("checkpoint verify " + run + " --step 99", 66);
  expect("checkpoint export " + run + " --npy " + quoted("npy" + kName), 0);
  expect("export " + quoted(kName + "/model.safetensors") + " --safetensors " + quoted("model" + kName), 0);
  expect_named("export " + quoted(kName + "/model.safetensors") + " --safetensors " + quoted("model" + kName), 73);
  fs::remove(place_.path() / kName / "model.safetensors");
  expect("summary " + run + " " + other, 0);
  place_.write(kName + "/summary.json", "[]");
  expect("summary " + run + " " + other, 0);
  place_.write(kName + "/metrics.jsonl", "[]\n");
  expect("report " + run + " " + other + " --html none", 0);
  expect_clean(place_.eave("watch " + run + " --once"), "watch");
}

TEST_F(Names, of_places_that_are_not_there) {
  const std::string name = quoted(kName);
  for (const char* command : {"summary ", "plan ", "checkpoint ls ", "report --html none "}) expect(command + name, 66);
  expect_named("export " + name + " --npy out", 66);
  expect_named("train --data mnist --data-dir " + name, 66);
  expect_named("train --data cifar10 --data-dir " + name, 66);
  expect_named("train --data image-folder --data-dir " + name, 66);
  expect_named(quick("--config " + name), 66);
  expect_named(quick("--initial-parameters " + name), 66);
  expect_named(quick("--plugin " + name), 66);
  expect_named(quick("--run-dir " + quoted("missing/" + kName) + " --resume --checkpoint on"), 66);
  expect("doctor --data mnist --run-dir " + name + " --data-dir " + name, 66);
}

TEST_F(Names, of_images_and_their_classes) {
  write_image_folder(place_, kName, [](const std::string& name, std::string& bytes) {
    if (name == "train/b/2.png") bytes.resize(bytes.size() - 20);
  });
  const fs::path images = place_.path() / kName;
  for (const char* part : {"train", "test"}) {
    fs::rename(images / part / "b", images / part / kName);
    fs::rename(images / part / kName / "2.png", images / part / kName / (kName + ".png"));
    place_.write(kName + "/" + part + "/a/" + kName, "no image");
  }
  const std::string data = " --data image-folder --data-dir " + quoted(kName);
  const std::string train = "train --progress off --model 'flatten; dense classes' --batch 1 --image-size 4" + data;
  expect_named(train, 65);
  expect_named(train + " --transport threads --ranks 2", 65);
  expect_named(train + " --on-bad-image late", 65);
  const Ended skipped = expect(train + " --on-bad-image skip --run-dir run", 0);
  EXPECT_TRUE(skipped.says("1 of 8 images cannot be used:") && skipped.says("\n  ")) << skipped.errors;
  const Ended doctor = expect_output(65, place_.eave("doctor --check-images" + data), {"\n  the image a?"});
  expect_clean(doctor, "doctor");
  expect("export run/model.safetensors --npy npy", 0);
  fs::remove(images / "train" / kName / "1.png");
  expect_named(train + " --on-bad-image skip", 65);
}

TEST_F(Names, of_files_that_hold_something_else) {
  for (const char* content : {"no setting\n", "lr = x\n", "= 3\n", "lr = 1\nlr = 2\n", "\xff\n", "run-dir = a#b\n"}) {
    place_.write(kName, content);
    expect_named(quick("--config " + quoted(kName)), 64);
  }
  place_.write(kName, "lr = 0.25\n");
  const Ended printed = expect(quick("--print-config --config " + quoted(kName)), 0);
  expect_parts(printed.output, {"# file a?eave: all is well?"});
  place_.write("x.ini", printed.output);
  expect_end(0, place_.eave("train --print-config --config x.ini"));
  expect_named(quick("--plugin " + quoted("./" + kName)), 64);
  expect_named(quick("--initial-parameters " + quoted(kName)), 65);
  expect_named("export " + quoted(kName) + " --npy out", 65);
  expect_named(quick("--run-dir " + quoted(kName)), 73);
  expect_named("watch " + quoted(kName), 66);
  write_fashion_mnist(place_, "d" + kName, [](const std::string&, std::string& bytes) { bytes = "<html>"; });
  expect_named("train --data fashion-mnist --data-dir " + quoted("d" + kName), 65);
}

// config.json holds the name, so the name has to be UTF-8.
TEST_F(Names, of_checkpoint_directories) {
  const std::string run = quick("--run-dir run --checkpoint-dir " + quoted(kTextName));
  expect(run + " --epochs 2", 0);
  expect(run + " --resume --epochs 3", 0);
  expect("checkpoint ls run", 0);
  for (const auto& entry : fs::recursive_directory_iterator(place_.path() / kTextName)) {
    if (entry.path().filename().string().starts_with("rank-")) fs::resize_file(entry.path(), 10);
  }
  const Ended listed = expect_output(65, place_.eave("checkpoint ls run"), {kPlanted});
  expect_clean(listed, "checkpoint ls");
  expect_named(run + " --resume --epochs 4", 65);
  expect_named(quick("--run-dir other --checkpoint-dir " + quoted(kTextName)), 73);
}

TEST_F(Names, that_are_values_of_options_and_variables) {
  const std::string name = quoted(kName);
  for (const std::string option : {"communicator", "transport", "data", "optimizer", "lr", "batch", "epochs",
                                   "progress", "device", "limit-step", "resume"})
    expect_named(quick("--" + option + "=" + name), 64);
  for (const char* option : {"--model=", "--no-such-option="}) expect(quick(option + name), 64);
  expect_named(quick(name), 64);
  expect_named(quick("--" + quoted(kName + "=3")), 64);
  expect_named(name, 64);
  expect_named("help " + name, 64);
  expect_named("help --format " + name, 64);
  expect_named("checkpoint " + name + " run", 64);
  expect_named("compare --communicators " + name + " --output out --data synthetic --model mlp", 64);
  expect_named("bench-comm --operation " + name, 64);
  expect_named(quick(""), 64, "EAVE_BATCH=" + name);
  expect(quick(""), 0, quoted("EAVE_" + kName + "=1"));
}

TEST_F(Names, stay_true_in_files_for_programs) {
  const std::string run = quoted(kTextName);
  expect(quick("--run-dir " + run), 0);
  expect("report " + run + " --html page.html --runs-csv runs.csv", 0);
  expect_parts(place_.read("runs.csv"), {"\r\n\"" + kTextName + "\","});
  expect_parts(place_.read("page.html"), {R"("a\n)" + kPlanted + R"(\r)"});
  expect_parts(place_.read(kTextName + "/config.json"), {R"("a\n)" + kPlanted + R"(\r)"});
}

}  // namespace
}  // namespace eave
