// Before eave writes a file, something foreign stands under its name: a link, a file with a second name, or a pipe. Its
// target stays unchanged, and eave does not hang.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>

#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRun =
    "--communicator easgd-async --tau 2 --transport threads --ranks 2 --checkpoint-every 2 --tensorboard --trace "
    "--run-dir run ";

class Planted : public testing::Test {
 protected:
  Planted() {
    place_.write("precious/file", "precious");
    place_.write("precious/step-000001/kept", "kept");
  }
  using Plant = std::function<void(const fs::path&)>;
  std::vector<std::pair<std::string, Plant>> plants() const {
    const fs::path precious = place_.path() / "precious/file";
    return {{"link", [precious](const fs::path& at) { fs::create_symlink(precious, at); }},
            {"directory", [precious](const fs::path& at) { fs::create_symlink(precious.parent_path(), at); }},
            {"hard link", [precious](const fs::path& at) { fs::create_hard_link(precious, at); }},
            {"pipe", [](const fs::path& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); }}};
  }
  void plant(const Plant& plant, const std::string& name) const {
    const fs::path at = place_.path() / name;
    fs::create_directories(at.parent_path());
    fs::remove_all(at);
    plant(at);
  }
  void expect(const Ended& ended, const std::set<int>& codes, const std::string& what) const {
    EXPECT_TRUE(codes.contains(ended.code)) << what << " ended with " << ended.code << "\n" << ended.errors;
    EXPECT_LE(ended.messages().size(), 1u) << what << "\n" << ended.errors;
    EXPECT_EQ(place_.read("precious/file"), "precious") << what;
    EXPECT_EQ(place_.read("precious/step-000001/kept"), "kept") << what;
    EXPECT_EQ(std::distance(fs::directory_iterator(place_.path() / "precious"), {}), 2) << what;
  }
  // Returns the names of all files of a run with every feature on. Event files are left out, since nobody can know
  // their names before.
  std::vector<std::string> files_of_run() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(place_.path() / "run")) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && !name.starts_with("events.")) names.push_back(name);
    }
    return names;
  }
  Place place_;
};

TEST_F(Planted, in_a_run_directory_are_replaced) {
  expect_end(0, place_.eave(quick(kRun)));
  const std::vector<std::string> names = files_of_run();
  EXPECT_EQ(names.size(), 6u);
  for (const auto& [what, put] : plants()) {
    for (const std::string& name : names) {
      if (name != "metrics.jsonl") plant(put, "run/" + name);  // eave knows a run directory by this file
      plant(put, "run/" + name + ".partial");
    }
    for (const std::string name : {"calls-rank-0.json", "checkpoint/step-000002", "checkpoint/step-000004.partial"})
      plant(put, "run/" + name);
    expect(place_.eave(quick(kRun) + "--overwrite"), {0}, what);
    for (const std::string& name : names)
      EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(place_.path() / "run" / name))) << what << " " << name;
    expect_end(0, place_.eave("checkpoint verify run"));
    // A resumed run appends to metrics.jsonl.
    plant(put, "run/metrics.jsonl.partial");
    expect(place_.eave(quick(kRun) + "--resume --epochs 2"), {0}, what + " resumed");
    plant(put, "run/metrics.jsonl");
    expect(place_.eave(quick(kRun) + "--resume --epochs 3"), {0, 65, 66, 73}, what + " as metrics resumed");
    plant(put, "run/metrics.jsonl");
    expect(place_.eave(quick(kRun) + "--overwrite"), {0}, what + " as metrics");
    plant(put, "run/run.lock");
    const Ended locked = place_.eave(quick(kRun) + "--overwrite");
    expect(locked, {73}, what + " as a lock");
    EXPECT_TRUE(locked.says("cannot create run.lock")) << locked.errors;
    fs::remove(place_.path() / "run/run.lock");
  }
}

TEST_F(Planted, in_what_a_comparison_and_a_report_write_are_replaced_or_refused) {
  const std::string words = "compare" + std::string(kQuick) +
                            "--communicators local-sgd:tau=2 --ranks 2 --seeds 1 --transport threads --output all ";
  expect_end(0, place_.eave(words));
  for (const auto& [what, put] : plants()) {
    for (const std::string name : {"report.html", "report.html.partial", "variants.csv", "variants.csv.partial"})
      plant(put, "all/" + name);
    expect(place_.eave(words), {0}, what + " beside a comparison");
    plant(put, "all/report.html");
    expect(place_.eave("report all"), {0}, what + " as a page");
    plant(put, "all/compare.lock");
    expect(place_.eave(words), {73}, what + " as a comparison's lock");
    fs::remove(place_.path() / "all/compare.lock");
    plant(put, "summary.json.partial");
    plant(put, "model.partial");
    fs::path cell;
    for (const auto& entry : fs::directory_iterator(place_.path() / "all"))
      if (entry.is_directory()) cell = entry.path().filename();
    const std::string run = "all/" + cell.string();
    expect(place_.eave("summary " + run + " --json summary.json"), {0}, what + " beside a summary");
    expect(place_.eave("export " + run + " --safetensors model"), {0}, what + " beside a model");
    fs::remove(place_.path() / "model");
  }
}

TEST_F(Planted, a_run_of_a_comparison_is_not_written_through_a_link) {
  fs::create_directory(place_.path() / "empty");
  const std::string words = "compare" + std::string(kQuick) +
                            "--communicators local-sgd:tau=2 --ranks 2 --seeds 1 --transport threads --output all ";
  expect_end(0, place_.eave(words));
  for (const auto& entry : fs::directory_iterator(place_.path() / "all")) {
    if (!entry.is_directory()) continue;
    fs::remove_all(entry.path());
    fs::create_symlink("../empty", entry.path());
  }
  expect_end(73, place_.eave(words), {"is a symbolic link to ../empty"});
  EXPECT_TRUE(fs::is_empty(place_.path() / "empty"));
}

TEST_F(Planted, paths_that_a_person_names_may_be_links_pipes_and_streams) {
  expect_end(0, place_.eave(quick("--run-dir run")));
  fs::create_symlink("precious/file", place_.path() / "link");
  expect_end(0, place_.eave("summary run --json link"));
  EXPECT_TRUE(place_.read("precious/file").starts_with("[")) << place_.read("precious/file");
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(place_.path() / "link")));
  const Ended table = expect_end(0, place_.eave("report run --html none --csv /dev/stdout"), {"\nmethod "});
  EXPECT_TRUE(table.output.starts_with("method,")) << table.output;
  expect_end(0, place_.eave("report run --html /dev/null --runs-csv /dev/null"));
  expect_end(
      0, place_.run("sh -c 'mkfifo pipe; " + program() + " export run --safetensors pipe & cat pipe > copy; wait'"));
  expect_end(0, place_.eave("export run --safetensors file"));
  EXPECT_EQ(place_.read("copy"), place_.read("file"));
  expect_end(0, place_.run("sh -c '" + program() + " export run --safetensors /dev/stdout > copy2'"));
  EXPECT_EQ(place_.read("copy2"), place_.read("file"));
  // The run directory is a link.
  fs::create_directory(place_.path() / "large");
  fs::create_symlink("large", place_.path() / "linked");
  expect_end(0, place_.eave(quick("--run-dir linked")));
  EXPECT_FALSE(place_.read("large/summary.json").empty());
}

// Before training, eave names each such path and says what to do.
TEST_F(Planted, what_cannot_be_a_directory_is_named_with_73) {
  fs::create_symlink("gone", place_.path() / "dangling");
  fs::create_symlink("loop", place_.path() / "loop");
  const std::string name(300, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"dangling", "is a symbolic link to gone, which is not there; make that directory"},
      {"dangling/run", "is a symbolic link to gone"},
      {"loop", "is a loop of symbolic links"},
      {"precious/file", "is a file, no directory"},
      {"precious/file/run", "is a file, no directory"},
      {"/dev/null", "/dev/null is a device, no directory; name another directory"},
      {name, "File name too long; choose a shorter name"}};
  for (const auto& [path, words] : cases) {
    for (const std::string& command :
         {quick("--run-dir " + path), quick("--run-dir run --checkpoint-dir " + path),
          "compare" + std::string(kQuick) +
              "--communicators allreduce --ranks 2 --seeds 1 --transport threads --output " + path}) {
      const Ended ended = expect_end(73, place_.eave(command), {words});
      EXPECT_FALSE(ended.says("remove")) << "it is not eave's\n" << ended.errors;
    }
  }
}

}  // namespace
}  // namespace eave
