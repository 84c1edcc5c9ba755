// The system's calls by which files are written, behind one interface: so that a test can make any of them fail, and
// can know what would be left if the power went at any of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace eave {

// As the system's: -1 and errno where they fail; write may take less than it is given. Any thread may call.
class FileCalls {
 public:
  enum class Existing { kReplace, kRefuse };  // kRefuse: neither a file nor a symbolic link may be there

  virtual ~FileCalls() = default;
  virtual int create(const std::string& path, Existing existing) = 0;  // the descriptor of a file to be written
  virtual std::ptrdiff_t write(int file, std::string_view bytes) = 0;
  virtual int flush(int file) = 0;  // to the disk; of a directory: its names
  virtual int close(int file) = 0;
  virtual int open_directory(const std::string& path) = 0;  // its descriptor, for flush
  virtual int make_directory(const std::string& path) = 0;
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int remove(const std::string& path) = 0;  // a file or an empty directory
};

FileCalls& system_file_calls();

}  // namespace eave
