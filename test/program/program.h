// Runs the built program as people do, in its own directory, and keeps its output. Finds a Python that reads eave's
// files as other programs do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "test/temporary_directory.h"

namespace eave {

// How a test starts `eave`: by itself or under mpirun, and with which environment.
struct Launch {
  int mpirun_ranks = 0;          // 0: without mpirun
  std::string environment = {};  // assignments such as "EAVE_LR=0.1 …"
};

struct Ended {
  int code = -1;  // exit code; 124 if the program was still running after 20 s
  std::string output, errors;
  std::string command = {};  // that was run
  // The lines of `errors` that begin with "eave: " on a terminal, without warnings.
  std::vector<std::string> messages() const;
  bool says(const std::string& text) const { return errors.find(text) != std::string::npos; }
};

// A temporary directory in which the program runs. The destructor removes it.
class Place {
 public:
  const std::filesystem::path& path() const { return directory_.path(); }
  std::string read(const std::string& file) const;
  void write(const std::string& file, const std::string& content) const;

  // Runs `eave` with `words`, which a shell reads. Several threads may call it at once.
  Ended eave(const std::string& words, const Launch& launch = {}) const;
  Ended run(const std::string& command) const;  // Runs any command under the same conditions.

 private:
  TemporaryDirectory directory_;
};

// Options of a small, quick training run: 97 images of 8 × 8 pixels, one epoch.
extern const char* const kQuick;
std::string quick(const std::string& more);  // The words of a training run of that size, then `more`.
bool has_mpirun();
std::string program();  // The path of eave, for Place::run.
std::string mpirun(int ranks);

// Returns the command of a Python that can import `package` ("torch", "numpy"), for Place::run, or "" if there is none.
// It tries the environment that bench/ has made for PyTorch, then python3.
std::string python_with(const Place& place, const std::string& package);
std::string script(const std::string& name);  // Returns the path of test/program/NAME.

}  // namespace eave
