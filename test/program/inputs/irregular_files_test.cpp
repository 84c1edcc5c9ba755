// Pipes, directories, devices and sockets stand under names of files that eave reads. eave names each and never hangs.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "test/program/expectations.h"
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
  expect_end(65, ended, {file + " is no regular file but " + kind});
}

TEST(IrregularFiles, of_a_run_are_named_by_every_command_that_reads_them) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --checkpoint-dir disk")));
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
        expect_output(65, place.eave("checkpoint verify run"), {"is no regular file but " + kind});
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
  expect_end(0, place.eave(quick("--run-dir all/one")));
  expect_end(0, place.eave(quick("--run-dir all/two")));
  const fs::path metrics = place.path() / "all/two/metrics.jsonl",
                 state = place.path() / "all/one/checkpoint/step-000013/rank-0.state";
  fs::remove(metrics);
  fs::rename(state, place.path() / "state");
  for (const auto& [kind, make] : irregular_files()) {
    SCOPED_TRACE(kind);
    make(metrics);
    make(state);
    const Ended report = expect_end(0, place.eave("report all --html none"));
    EXPECT_TRUE((report.errors + report.output).find("is no regular file but " + kind) != std::string::npos)
        << report.errors << report.output;
    expect_end(0, place.eave("watch all --once"));
    for (const std::string action : {"ls", "verify"}) {
      expect_output(65, place.eave("checkpoint " + action + " all/one"), {"rank-0.state"});
    }
    expect_parts(place.eave("checkpoint verify all/one").output, {"is no regular file but " + kind});
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
  expect_end(0, place.eave(quick("--run-dir run")));
  const auto piped = [&](const std::string& from, const std::string& words) {
    return place.run("sh -c 'rm -f pipe; mkfifo pipe; cat " + from + " > pipe & timeout 60 \"$@\"' sh " + program() +
                     " " + words);
  };
  EXPECT_EQ(piped("run/model.safetensors", "export pipe --safetensors copy").code, 0);
  expect_end(0, place.eave("export run --safetensors straight"));
  EXPECT_EQ(place.read("copy"), place.read("straight"));
  EXPECT_EQ(piped("run/model.safetensors", quick("--initial-parameters pipe")).code, 0);
  place.write("settings", "max-steps = 3\n");
  expect_end(0, piped("settings", quick("--config pipe --run-dir short")));
  expect_parts(place.read("short/summary.json"), {"\"steps\": 3"});
  expect_end(0, place.run("sh -c 'cat settings | \"$@\"' sh " + program() + " " + quick("--config /dev/stdin")));
  expect_end(65, place.eave(quick("--config run")));
  if (!has_mpirun()) return;
  fs::remove(place.path() / "pipe");
  ASSERT_EQ(::mkfifo((place.path() / "pipe").c_str(), 0600), 0);
  expect_end(64, place.eave(quick("--config pipe"), {2}), {"is a pipe (FIFO), which only one of 2 ranks could read"});
}

}  // namespace
}  // namespace eave
