// Pipes, directories, devices and sockets stand under names of files that eave reads. eave names each and never hangs.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "test/program/program.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

struct Irregular {
  std::string kind;
  std::function<void(const fs::path&)> make;
};

void make_socket(const fs::path& at) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The path of a Place may be too long for a socket address.
  const std::string name = "/tmp/eave-socket-" + std::to_string(::getpid());
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  const int number = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(number);
  fs::rename(name, at);
}

const std::vector<Irregular>& irregular_files() {
  static const std::vector<Irregular> kinds = {
      {"a pipe (FIFO)", [](const fs::path& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); }},
      {"a directory", [](const fs::path& at) { fs::create_directory(at); }},
      {"a socket", make_socket},
      {"a symbolic link to a directory", [](const fs::path& at) { fs::create_symlink("/tmp", at); }},
      {"a symbolic link to a device", [](const fs::path& at) { fs::create_symlink("/dev/zero", at); }}};
  return kinds;
}

void expect_named(const Ended& ended, const std::string& file, const std::string& kind) {
  EXPECT_EQ(ended.code, 65) << ended.errors;
  EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
  EXPECT_TRUE(ended.says(file + " is no regular file but " + kind)) << ended.errors << ended.output;
}

TEST(IrregularFiles, of_a_run_are_named_by_every_command_that_reads_them) {
  const Place place;
  ASSERT_EQ(place.eave(quick("--run-dir run --checkpoint-dir disk")).code, 0);
  const std::vector<std::pair<std::string, std::vector<std::string>>> readers = {
      {"run/config.json", {"checkpoint ls run", quick("--run-dir run --resume auto")}},
      {"run/metrics.jsonl", {"watch run --once", "plan run", quick("--run-dir run --resume --epochs 2")}},
      {"run/summary.json", {"summary run", quick("--run-dir run --resume auto")}},
      {"run/model.safetensors",
       {"export run --npy arrays", quick("--initial-parameters run"), quick("--run-dir run --resume auto")}},
      {"disk/run.json", {"checkpoint export run --npy arrays", quick("--run-dir run --resume --epochs 2")}}};
  for (const auto& [kind, make] : irregular_files()) {
    for (const auto& [file, commands] : readers) {
      fs::rename(place.path() / file, place.path() / "kept");
      make(place.path() / file);
      for (const std::string& words : commands) {
        SCOPED_TRACE(words);
        expect_named(place.eave(words), file.substr(file.find('/')), kind);
      }
      if (file == "run/model.safetensors") {
        const Ended verified = place.eave("checkpoint verify run");
        EXPECT_EQ(verified.code, 65) << verified.errors;
        EXPECT_NE(verified.output.find("is no regular file but " + kind), std::string::npos) << verified.output;
      }
      fs::remove(place.path() / file);
      fs::rename(place.path() / "kept", place.path() / file);
    }
  }
  EXPECT_EQ(place.eave("checkpoint verify run").code, 0) << "nothing was changed";
}

// A report of several runs names a run that it cannot read, and leaves that run out.
TEST(IrregularFiles, among_runs_and_checkpoints_are_told_apart_from_the_others) {
  const Place place;
  ASSERT_EQ(place.eave(quick("--run-dir all/one")).code, 0);
  ASSERT_EQ(place.eave(quick("--run-dir all/two")).code, 0);
  const fs::path metrics = place.path() / "all/two/metrics.jsonl",
                 state = place.path() / "all/one/checkpoint/step-000013/rank-0.state";
  fs::remove(metrics);
  fs::rename(state, place.path() / "state");
  for (const auto& [kind, make] : irregular_files()) {
    SCOPED_TRACE(kind);
    make(metrics);
    make(state);
    const Ended report = place.eave("report all --html none");
    EXPECT_EQ(report.code, 0) << report.errors;
    EXPECT_TRUE((report.errors + report.output).find("is no regular file but " + kind) != std::string::npos)
        << report.errors << report.output;
    EXPECT_EQ(place.eave("watch all --once").code, 0);
    for (const std::string action : {"ls", "verify"}) {
      const Ended ended = place.eave("checkpoint " + action + " all/one");
      EXPECT_EQ(ended.code, 65) << ended.errors;
      EXPECT_NE(ended.output.find("rank-0.state"), std::string::npos) << ended.output;
    }
    EXPECT_NE(place.eave("checkpoint verify all/one").output.find("is no regular file but " + kind), std::string::npos);
    fs::remove(metrics);
    fs::remove(state);
  }
}

TEST(IrregularFiles, of_data_are_named) {
  const Place place;
  write_fashion_mnist(place, "set", [](const auto&, auto&) {});
  write_image_folder(place, "folder", [](const auto&, auto&) {});
  fs::path image, array;
  for (const auto& entry : fs::directory_iterator(place.path() / "folder/train/a")) image = entry.path();
  for (const auto& entry : fs::directory_iterator(place.path() / "set")) {
    if (entry.path().filename().string().starts_with("train-images")) array = entry.path();
  }
  fs::remove(image);
  fs::remove(array);
  for (const auto& [kind, make] : irregular_files()) {
    make(array);
    for (const std::string more : {"", " --stage-to copies"}) {
      const Ended ended = place.eave("train --data fashion-mnist --data-dir set --progress off" + more);
      expect_named(ended, array.filename().string(), kind);
    }
    fs::remove(array);
    if (kind.find("directory") != std::string::npos) continue;  // refused as a folder inside a class folder
    make(image);
    expect_named(
        place.eave("train --data image-folder --data-dir folder --progress off --model 'flatten; dense classes'"),
        image.filename().string(), kind);
    fs::remove(image);
  }
}

// A person may name a pipe as an input. eave then waits for the pipe's writer.
TEST(IrregularFiles, that_a_person_names_are_read) {
  const Place place;
  ASSERT_EQ(place.eave(quick("--run-dir run")).code, 0);
  const auto piped = [&](const std::string& from, const std::string& words) {
    return place.run("sh -c 'rm -f pipe; mkfifo pipe; cat " + from + " > pipe & timeout 60 \"$@\"' sh " + program() +
                     " " + words);
  };
  EXPECT_EQ(piped("run/model.safetensors", "export pipe --safetensors copy").code, 0);
  EXPECT_EQ(place.eave("export run --safetensors straight").code, 0);
  EXPECT_EQ(place.read("copy"), place.read("straight"));
  EXPECT_EQ(piped("run/model.safetensors", quick("--initial-parameters pipe")).code, 0);
  place.write("settings", "max-steps = 3\n");
  const Ended configured = piped("settings", quick("--config pipe --run-dir short"));
  EXPECT_EQ(configured.code, 0) << configured.errors;
  EXPECT_NE(place.read("short/summary.json").find("\"steps\": 3"), std::string::npos)
      << place.read("short/summary.json");
  EXPECT_EQ(place.run("sh -c 'cat settings | \"$@\"' sh " + program() + " " + quick("--config /dev/stdin")).code, 0);
  EXPECT_EQ(place.eave(quick("--config run")).code, 65);
  if (!has_mpirun()) return;
  fs::remove(place.path() / "pipe");
  ASSERT_EQ(::mkfifo((place.path() / "pipe").c_str(), 0600), 0);
  const Ended together = place.eave(quick("--config pipe"), {2});
  EXPECT_EQ(together.code, 64) << together.errors;
  EXPECT_EQ(together.messages().size(), 1u) << together.errors;
  EXPECT_TRUE(together.says("is a pipe (FIFO), which only one of 2 ranks could read")) << together.errors;
}

}  // namespace
}  // namespace eave
