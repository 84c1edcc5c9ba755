// Runs the built program as people do, in a directory of its own, and keeps what it says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "test/temporary_directory.h"

namespace eave {

// What comes before `eave` on the command line: nothing, or mpirun with so many ranks.
struct Launch {
  int mpirun_ranks = 0;          // 0: without mpirun
  std::string environment = {};  // "EAVE_LR=0.1 …"
};

struct Ended {
  int code = -1;  // 124: it was still running after 20 s
  std::string output, errors;
  std::vector<std::string> messages() const;  // the lines of `errors` that begin with "eave: ", without warnings
  bool says(const std::string& text) const { return errors.find(text) != std::string::npos; }
};

// A directory under the system's temporary one, removed at the end, and the program run inside it.
class Place {
 public:
  const std::filesystem::path& path() const { return directory_.path(); }
  std::string read(const std::string& file) const;
  void write(const std::string& file, const std::string& content) const;

  // `words` as a shell would read them. May be called from several threads.
  Ended eave(const std::string& words, const Launch& launch = {}) const;
  Ended run(const std::string& command) const;  // any command, under the same conditions

 private:
  TemporaryDirectory directory_;
};

// Small and quick: 97 images of 8 × 8, one epoch.
extern const char* const kQuick;
std::string quick(const std::string& more);  // a training run of that size, and more words
bool has_mpirun();
std::string program();  // for Place::run
std::string mpirun(int ranks);

}  // namespace eave
