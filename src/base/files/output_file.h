// Writes files and directories so that they are on the disk when a call returns. Errors say which file failed and why.
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/output_path.h"
#include "eave/check.h"

namespace eave {

// The system calls by which files are written, behind one interface. So a test can make any of them fail, and can tell
// what would be left if the power failed at any of them.
//
// Each behaves like the system call: it returns -1 and sets errno if it fails, and write may take fewer bytes than it
// is given. Any thread may call them.
class FileCalls {
 public:
  // Says what to do if a file, a link or a pipe has the name already. kReplace gives the name to a new file. It leaves
  // the target of a link, and other names of the old file, as they are. kRefuse fails with EEXIST.
  enum class Existing { kReplace, kRefuse };

  virtual ~FileCalls() = default;
  virtual int create(const OutputPath& path, Existing existing) = 0;  // returns a descriptor for writing
  virtual std::ptrdiff_t write(int file, std::string_view bytes) = 0;
  virtual int flush(int file) = 0;  // to the disk; for a directory, its names
  virtual int close(int file) = 0;
  virtual int open_directory(const OutputFolder& folder) = 0;  // returns a descriptor for flush
  virtual int make_directory(const OutputPath& path) = 0;
  virtual int rename(const OutputPath& from, const OutputPath& to) = 0;
  virtual int remove(const OutputPath& path) = 0;  // a file or an empty directory
};

// The calls of a single file that lies in no directory.
class SingleFileCalls : public FileCalls {
 public:
  int create(const OutputPath&, Existing) override { return 0; }
  int flush(int) override { return 0; }
  int close(int) override { return 0; }
  int open_directory(const OutputFolder&) override { return refuse(); }
  int make_directory(const OutputPath&) override { return refuse(); }
  int rename(const OutputPath&, const OutputPath&) override { return refuse(); }
  int remove(const OutputPath&) override { return refuse(); }

 private:
  static int refuse() {
    errno = ENOSYS;
    return -1;
  }
};

FileCalls& system_file_calls();

// A file that is being written. Retries calls that a signal interrupts, and continues short writes. Throws Error:
// kCannotCreate, kInputOutput.
class OutputFile {
 public:
  OutputFile(const OutputPath& path, FileCalls::Existing existing, FileCalls& calls = system_file_calls());
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // closes; without finish(), the file may be incomplete

  void write(std::string_view bytes);
  void finish();  // flushes to the disk and closes; call nothing after it

 private:
  const OutputPath path_;
  FileCalls& calls_;
  int file_ = -1;
};

// Flushes the names in a directory to the disk. Throws Error(kInputOutput).
void flush_directory(const OutputFolder& folder, FileCalls& calls = system_file_calls());
// Makes a directory. One that exists is accepted, a link to one is not. Throws Error(kCannotCreate).
void make_directory(const OutputFolder& folder, FileCalls& calls = system_file_calls());
// Throws Error(kCannotCreate).
void rename_file(const OutputPath& from, const OutputPath& to, FileCalls& calls = system_file_calls());
// Removes a file, or a directory with its content. Removes symbolic links and does not follow them. Returns whether
// nothing is left.
bool remove_tree(const OutputPath& path, FileCalls& calls = system_file_calls()) noexcept;

// The folder of files that eave can make again: $XDG_CACHE_HOME/eave/NAME, or else ~/.cache/eave/NAME. Empty if neither
// variable is set to an absolute path.
std::filesystem::path cache_folder(const std::string& name);
// Makes this folder and the two above it. Throws Error(kCannotCreate).
void make_cache_folder(const std::filesystem::path& folder);

// Writes beside the target, flushes to the disk, and renames over the target. A reader sees the old file or the new
// one, never a part. After return it is the new one, even if the power fails. If something else has the name or
// NAME.partial, such as a link, it loses that name and is otherwise left alone. Throws Error: kCannotCreate if the file
// cannot be created, kInputOutput if the disk is full or fails.
void write_file_atomically(const OutputPath& path, const std::string& content, FileCalls& calls = system_file_calls());
// The same, from consecutive pieces.
void write_file_atomically(const OutputPath& path, const std::vector<std::string_view>& pieces,
                           FileCalls& calls = system_file_calls());

}  // namespace eave
