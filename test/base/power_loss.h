// Simulates a power failure between two file system calls: replays what the disk may then hold.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/files/output_file.h"

namespace eave {

// Carries out each call and records it. For one thread.
class RecordedCalls final : public FileCalls {
 public:
  explicit RecordedCalls(std::filesystem::path root) : root_(std::move(root)) {}

  // Says that from now on the disk must hold the state of `step`, whatever a power failure loses.
  void mark(std::int64_t step) { calls_.push_back({Call::kMark, "", "", -1, "", step}); }
  std::size_t count() const { return calls_.size(); }

  int create(const OutputPath& path, Existing existing) override {
    const int file = system_file_calls().create(path, existing);
    if (file >= 0) calls_.push_back({Call::kCreate, inside(path.path()), "", file});
    return file;
  }
  std::ptrdiff_t write(int file, std::string_view bytes) override {
    const std::ptrdiff_t count = system_file_calls().write(file, bytes);
    if (count > 0) {
      calls_.push_back({Call::kWrite, "", "", file, std::string(bytes.substr(0, static_cast<std::size_t>(count)))});
    }
    return count;
  }
  int flush(int file) override {
    calls_.push_back({Call::kFlush, "", "", file});
    return system_file_calls().flush(file);
  }
  int close(int file) override { return system_file_calls().close(file); }
  int open_directory(const OutputFolder& path) override {
    const int file = system_file_calls().open_directory(path);
    if (file >= 0) calls_.push_back({Call::kOpenDirectory, inside(path.path()), "", file});
    return file;
  }
  int make_directory(const OutputPath& path) override {
    const int result = system_file_calls().make_directory(path);
    if (result == 0) calls_.push_back({Call::kMakeDirectory, inside(path.path())});
    return result;
  }
  int rename(const OutputPath& from, const OutputPath& to) override {
    const int result = system_file_calls().rename(from, to);
    if (result == 0) calls_.push_back({Call::kRename, inside(from.path()), inside(to.path())});
    return result;
  }
  int remove(const OutputPath& path) override {
    const int result = system_file_calls().remove(path);
    if (result == 0) calls_.push_back({Call::kRemove, inside(path.path())});
    return result;
  }

  // How a file ends up whose data was not flushed. kTorn: half of the unflushed bytes are written, the rest are zeros.
  enum class Data { kKept, kLost, kTorn };
  struct Loss {
    std::size_t calls = 0;  // calls made before the power failed
    Data data = Data::kLost;
    std::size_t names_kept = 0;  // renames, creations and removals before this call survive even without a flush
  };

  // Creates under `root` what the disk holds after `loss`. Returns the step of the last mark, or 0 if there is none.
  std::int64_t replay(const Loss& loss, const std::filesystem::path& root) const;

 private:
  struct Call {
    enum Kind { kCreate, kWrite, kFlush, kOpenDirectory, kMakeDirectory, kRename, kRemove, kMark } kind;
    std::string path, to = {};
    int file = -1;
    std::string bytes = {};
    std::int64_t step = 0;
  };
  // A file or directory without its name, like an inode.
  struct Node {
    bool is_directory = false;
    std::string content, flushed;
    std::map<std::string, int> names;
  };
  // A change to one directory: the entry `taken` is removed, the entry `put` is added.
  struct Change {
    std::size_t call;
    int directory;
    std::string taken, put;
    int node;
    bool is_flushed = false;
  };
  struct Disk {
    std::vector<Node> nodes{{true, "", "", {}}};
    std::vector<Change> changes;
    std::map<int, int> open;  // descriptor, node
    std::int64_t mark = 0;
  };

  std::string inside(const std::filesystem::path& path) const {
    return path.lexically_normal().lexically_relative(root_).string();
  }
  static std::pair<int, std::string> place_of(const Disk& disk, const std::string& path);
  static void apply(Disk& disk, const Call& call, std::size_t index);
  static void change(Disk& disk, Change change);
  static void put(const Disk& disk, int node, const Loss& loss, const std::filesystem::path& path);

  const std::filesystem::path root_;
  std::vector<Call> calls_;
};

}  // namespace eave
