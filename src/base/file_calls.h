// The system's calls by which files are written, behind one interface: so that a test can make any of them fail, and
// can know what would be left if the power went at any of them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/output_path.h"

namespace eave {

// As the system's: -1 and errno where they fail; write may take less than it is given. Any thread may call.
class FileCalls {
 public:
  // If a file, a link or a pipe has the name already, kReplace gives the name to a new file and leaves what a link or a
  // second name leads to as it is. kRefuse fails with EEXIST.
  enum class Existing { kReplace, kRefuse };

  virtual ~FileCalls() = default;
  virtual int create(const OutputPath& path, Existing existing) = 0;  // the descriptor of a file to be written
  virtual std::ptrdiff_t write(int file, std::string_view bytes) = 0;
  virtual int flush(int file) = 0;  // to the disk; of a directory: its names
  virtual int close(int file) = 0;
  virtual int open_directory(const OutputFolder& folder) = 0;  // its descriptor, for flush
  virtual int make_directory(const OutputPath& path) = 0;
  virtual int rename(const OutputPath& from, const OutputPath& to) = 0;
  virtual int remove(const OutputPath& path) = 0;  // a file or an empty directory
};

FileCalls& system_file_calls();

}  // namespace eave
