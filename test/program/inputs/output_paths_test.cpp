// Tests paths that people name: links, read-only places, places that hold something else, and one path for two things.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t entries_in(const fs::path& directory) { return std::distance(fs::directory_iterator(directory), {}); }

std::string on_images(const std::string& more) {
  return "train --data fashion-mnist --data-dir set --model 'flatten; dense classes' --batch 4 --epochs 1 "
         "--progress off " +
         more;
}

TEST(StageTo, goes_through_no_link_under_a_name_of_its_own) {
  const Place place;
  write_fashion_mnist(place, "set", [](const auto&, auto&) {});
  place.write("precious/file", "precious");
  expect_end(0, place.eave(on_images("--stage-to copies")));
  const fs::path copies = place.path() / "copies";
  fs::path folder;
  for (const auto& entry : fs::directory_iterator(copies)) {
    if (entry.is_directory()) folder = entry.path();
  }
  fs::rename(folder, place.path() / "aside");
  fs::create_directory_symlink(place.path() / "precious", folder);
  expect_end(73, place.eave(on_images("--stage-to copies")), {"--stage-to copies: ", "is a link, or no directory"});
  fs::remove(folder);
  fs::remove(copies / "eave-stage.lock");
  fs::create_symlink("../precious/file", copies / "eave-stage.lock");
  expect_end(73, place.eave(on_images("--stage-to copies")),
             {"--stage-to copies: cannot write there: ", "eave writes through none"});
  fs::create_symlink("gone", place.path() / "dangling");
  expect_end(73, place.eave(on_images("--stage-to dangling")), {"dangling is a symbolic link to gone"});
  EXPECT_EQ(place.read("precious/file"), "precious");
  EXPECT_EQ(entries_in(place.path() / "precious"), 1);
  // A person may name a link to a directory.
  fs::create_directory(place.path() / "large");
  fs::create_directory_symlink("large", place.path() / "linked");
  expect_end(0, place.eave(on_images("--stage-to linked")));
}

// The test runs in a mount namespace of its own, so it needs root.
TEST(ReadOnlyDisk, is_named_wherever_something_was_to_be_written) {
  const Place place;
  if (place.run("unshare -m true").code != 0) GTEST_SKIP() << "needs the right to mount";
  write_fashion_mnist(place, "set", [](const auto&, auto&) {});
  expect_end(0, place.eave(quick("--run-dir run")));
  fs::create_directory(place.path() / "disk");
  const std::string before =
      "unshare -m sh -c 'mount -t tmpfs none disk && cp -r run disk && mkdir disk/empty && mount -o remount,ro disk && "
      "exec timeout 60 \"$@\"' sh " +
      program() + " ";
  const std::vector<std::string> all = {on_images("--stage-to disk/copies"),
                                        on_images("--stage-to disk/empty"),
                                        quick("--run-dir disk/new"),
                                        quick("--run-dir disk/empty"),
                                        quick("--run-dir disk/run --resume --epochs 2"),
                                        quick("--run-dir disk/run --overwrite"),
                                        quick("--run-dir new --checkpoint-dir disk/new"),
                                        quick("--run-dir new --checkpoint-dir disk/empty"),
                                        "export run --npy disk/arrays",
                                        "export run --safetensors disk/model",
                                        "checkpoint export run --npy disk/arrays",
                                        "report run --html disk/page.html",
                                        "summary run --json disk/rows.json"};
  for (const std::string& words : all) {
    SCOPED_TRACE(words);
    const Ended ended = place.run(before + words);
    expect_end(73, ended, {"disk", "Read-only file system; name a place that can be written to"});
  }
  expect_output(73, place.run(before + "doctor --run-dir disk/empty"), {"Read-only file system"});
  for (const std::string words : {"report disk/run --html none", "checkpoint verify disk/run", "summary disk/run"})
    EXPECT_EQ(place.run(before + words).code, 0) << words;
}

TEST(CheckpointExport, writes_over_nothing_that_was_planted) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  place.write("precious/file", "precious");
  const std::string words = "checkpoint export run ";
  fs::create_symlink("precious/file", place.path() / "model.partial");
  expect_end(0, place.eave(words + "--safetensors model"));
  fs::create_symlink("precious/file", place.path() / "link");
  fs::create_hard_link(place.path() / "precious/file", place.path() / "second");
  for (const std::string name : {"link", "second"})
    expect_end(73, place.eave(words + "--safetensors " + name), {"is there already; name another"});
  fs::create_directory_symlink("precious", place.path() / "linked");
  expect_end(73, place.eave(words + "--npy linked"), {"--npy linked is there already"});
  EXPECT_EQ(place.read("precious/file"), "precious");
  EXPECT_EQ(entries_in(place.path() / "precious"), 1);
}

TEST(Doctor, leaves_nothing_in_the_directory_that_it_probes) {
  const Place place;
  place.write("precious/file", "precious");
  fs::create_directory_symlink("precious", place.path() / "linked");
  for (const std::string more : {"", " --transport threads --ranks 2"}) {
    const Ended ended = place.eave("doctor --device cpu --run-dir linked" + more);
    expect_parts(ended.output, {"all ranks see and write"});
  }
  EXPECT_EQ(place.read("precious/file"), "precious");
  EXPECT_EQ(entries_in(place.path() / "precious"), 1);
  fs::create_symlink("gone", place.path() / "dangling");
  const Ended ended = place.eave("doctor --device cpu --run-dir dangling");
  expect_parts(ended.output, {"is a symbolic link to gone"});
}

// eave expands ~ itself, because a shell does not expand it in `env LIBEAVE_CUDA=~/x`.
TEST(EnvironmentOfProgram, a_home_directory_is_expanded_in_the_name_of_the_module_for_gpus) {
  const Place place;
  const Ended ended = place.eave(quick("--device cuda"), {0, "HOME=/home-of-tests 'LIBEAVE_CUDA=~/libeave_cuda.so'"});
  EXPECT_NE(ended.code, 0);
  expect_parts(ended.errors, {"/home-of-tests/libeave_cuda.so"});
  EXPECT_FALSE(ended.says("~")) << ended.errors;
}

TEST(EnvironmentOfProgram, a_comparison_names_unknown_variables_once) {
  const Place place;
  const std::string words =
      "compare" + std::string(kQuick) + "--communicators local-sgd:tau=2,easgd:tau=2 --seeds 1 --ranks 2 --output all";
  std::vector<Ended> all = {place.eave(words + " --transport threads", {0, "EAVE_TAG=v1 EAVE_DEPLOYMENT=blue"})};
  if (has_mpirun()) all.push_back(place.eave(words + "2", {2, "EAVE_TAG=v1 EAVE_DEPLOYMENT=blue"}));
  for (const Ended& ended : all) {
    expect_end(0, ended);
    EXPECT_EQ(count_of(ended.errors, "EAVE_TAG"), 1) << ended.errors;
  }
}

TEST(OutputOptions, that_name_files_of_a_run_or_one_file_twice_are_refused) {
  const Place place;
  expect_end(0, place.eave(quick("--epochs 20 --max-steps 40 --run-dir run")));
  fs::create_symlink("run/summary.json", place.path() / "link");
  const std::vector<std::string> before = {place.read("run/summary.json"), place.read("run/metrics.jsonl"),
                                           place.read("run/config.json")};
  for (const std::string words :
       {"summary run --json run/summary.json", "summary run --json run/../run/summary.json", "summary run --json link",
        "report run --html run/metrics.jsonl", "report run --csv run/config.json --html none",
        "plan run --json run/config.json", "report run --html none --runs-csv run/model.safetensors"})
    expect_end(64, place.eave(words),
               {"is the name of a file of the run in ", "/run, which would be lost; name another"});
  for (const std::string words :
       {"--html x --csv x", "--html none --csv x --runs-csv ./x", "--csv x --metrics-csv run/../x"})
    expect_end(64, place.eave("report run " + words), {" name one file; name two"});
  EXPECT_FALSE(fs::exists(place.path() / "x"));
  const std::vector<std::string> after = {place.read("run/summary.json"), place.read("run/metrics.jsonl"),
                                          place.read("run/config.json")};
  EXPECT_EQ(after, before);
  expect_end(0, place.eave("report run --html none --csv /dev/stdout --runs-csv /dev/stdout"));
  EXPECT_EQ(place.eave("report run --html run/page.html --csv run/table.csv").code, 0) << "names of nobody";
}

TEST(RunDirectory, among_class_folders_is_refused) {
  const Place place;
  write_image_folder(place, "parts", [](const auto&, auto&) {});
  fs::create_directory(place.path() / "flat");
  fs::copy(place.path() / "parts/train", place.path() / "flat", fs::copy_options::recursive);
  const std::string words = "train --data image-folder --model 'flatten; dense classes' --progress off --data-dir ";
  for (const std::string more : {"flat --run-dir flat/run", "flat --run-dir flat", "parts --run-dir parts/train/run",
                                 "parts --run-dir parts/../parts/test/x/y"})
    expect_end(64, place.eave(words + more), {"lies among the class folders of --data-dir "});
  EXPECT_FALSE(fs::exists(place.path() / "flat/run"));
  expect_end(0, place.eave(words + "parts --run-dir parts/run"));
}

// The program runs as a user who may not read the directory, because root may read all.
TEST(Permission, that_is_missing_is_named_as_such) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  fs::create_directory(place.path() / "closed");
  const std::string before = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  fs::permissions(place.path(), fs::perms::all);
  const Ended able = place.run(before + program() + " --version");
  if (::geteuid() != 0 || able.code != 0) GTEST_SKIP() << "needs root, and a program that others may run";
  for (const std::string name : {"run", "closed"}) fs::permissions(place.path() / name, fs::perms::owner_all);
  for (const std::string words :
       {"summary run", "export run --npy arrays", "checkpoint ls run", "plan run", "watch run --once"}) {
    expect_end(74, place.run(before + program() + " " + words), {"Permission denied"});
  }
  expect_end(73, place.run(before + program() + " " + quick("--run-dir closed")),
             {"--run-dir closed: cannot be looked into: Permission denied"});
}

}  // namespace
}  // namespace eave
