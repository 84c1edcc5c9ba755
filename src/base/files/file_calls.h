// The system calls by which files are written, behind one interface. So a test can make any of them fail, and can tell
// what would be left if the power failed at any of them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/files/output_path.h"

namespace eave {

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

FileCalls& system_file_calls();

}  // namespace eave
