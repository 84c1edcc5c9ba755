// Writes files and directories so that they are on the disk when a call returns. Errors say which file failed and why.
#pragma once

#include <string_view>

#include "base/files/file_calls.h"
#include "eave/check.h"

namespace eave {

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

}  // namespace eave
