// File system calls that fail on demand, for tests of writing.
#pragma once

#include <cerrno>
#include <mutex>

#include "base/files/output_file.h"

namespace eave {

// Counts calls from 1. Call number `first` fails, and all later ones too if the fault `persists`. A short write does
// not fail: it writes half of the bytes that it is given, rounded up. Calls may come from any thread.
class FailingCalls final : public FileCalls {
 public:
  enum class Kind { kNoSpace, kInputOutput, kStale, kQuota, kInterrupted, kShortWrite };
  struct Fault {
    int first = 0;  // 0: none
    Kind kind = Kind::kNoSpace;
    bool persists = false;
  };

  explicit FailingCalls(Fault fault) : fault_(fault) {}

  void heal() {
    const std::scoped_lock lock(mutex_);
    is_healed_ = true;
  }
  int count() const {
    const std::scoped_lock lock(mutex_);
    return count_;
  }
  bool has_failed() const {
    const std::scoped_lock lock(mutex_);
    return failures_ > 0;
  }

  int create(const OutputPath& path, Existing existing) override {
    return fails() ? -1 : system_file_calls().create(path, existing);
  }
  std::ptrdiff_t write(int file, std::string_view bytes) override {
    bool is_short = false;
    if (fails(&is_short)) return -1;
    if (is_short) bytes = bytes.substr(0, (bytes.size() + 1) / 2);
    return system_file_calls().write(file, bytes);
  }
  int flush(int file) override { return fails() ? -1 : system_file_calls().flush(file); }
  // Closes the file also when the call fails.
  int close(int file) override {
    const int result = system_file_calls().close(file);
    return fails() ? -1 : result;
  }
  int open_directory(const OutputFolder& path) override {
    return fails() ? -1 : system_file_calls().open_directory(path);
  }
  int make_directory(const OutputPath& path) override {
    return fails() ? -1 : system_file_calls().make_directory(path);
  }
  int rename(const OutputPath& from, const OutputPath& to) override {
    return fails() ? -1 : system_file_calls().rename(from, to);
  }
  int remove(const OutputPath& path) override { return fails() ? -1 : system_file_calls().remove(path); }

 private:
  bool fails(bool* is_short = nullptr) {
    const std::scoped_lock lock(mutex_);
    const int turn = ++count_;
    const bool is_its = fault_.first > 0 && (fault_.persists ? turn >= fault_.first : turn == fault_.first);
    if (!is_its || is_healed_) return false;
    if (fault_.kind == Kind::kShortWrite) {
      if (is_short != nullptr) *is_short = true;
      return false;
    }
    ++failures_;
    errno = error_of(fault_.kind);
    return true;
  }

  static int error_of(Kind kind) {
    switch (kind) {
      case Kind::kNoSpace:
        return ENOSPC;
      case Kind::kStale:
        return ESTALE;
      case Kind::kQuota:
        return EDQUOT;
      case Kind::kInterrupted:
        return EINTR;
      default:
        return EIO;
    }
  }

  const Fault fault_;
  mutable std::mutex mutex_;
  int count_ = 0, failures_ = 0;
  bool is_healed_ = false;
};

}  // namespace eave
