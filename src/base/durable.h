// Writing that is on the disk when it returns, and says which file failed and why when it does not.
#pragma once

#include <string_view>

#include "base/file_calls.h"
#include "eave/check.h"

namespace eave {

// A file that is being written. What was interrupted or cut short goes on. Throws Error: kCannotCreate, kInputOutput.
class OutputFile {
 public:
  OutputFile(const OutputPath& path, FileCalls::Existing existing, FileCalls& calls = system_file_calls());
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // closes; what was not finished may be on the disk in part

  void write(std::string_view bytes);
  void finish();  // flushes to the disk and closes; nothing may follow

 private:
  const OutputPath path_;
  FileCalls& calls_;
  int file_ = -1;
};

// The names in a directory are on the disk. Throws Error(kInputOutput).
void flush_directory(const OutputFolder& folder, FileCalls& calls = system_file_calls());
// One that is there already is well, a link to one is not. Throws Error(kCannotCreate).
void make_directory(const OutputFolder& folder, FileCalls& calls = system_file_calls());
// Throws Error(kCannotCreate).
void rename_file(const OutputPath& from, const OutputPath& to, FileCalls& calls = system_file_calls());
// A file, or a directory with all in it; symbolic links are removed, not followed. Returns whether nothing is left.
bool remove_tree(const OutputPath& path, FileCalls& calls = system_file_calls()) noexcept;

}  // namespace eave
