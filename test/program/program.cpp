#include "test/program/program.h"

#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEraseLine = "\r\033[K";  // erases a progress bar

// In containers and CI tests run as root, with fewer cores than ranks. Without the last variable, mpirun waits a second
// for each rank that it ends. EAVE_LAB says where the netlab is. eave would take it for an option of its own.
constexpr const char* kEnvironment =
    "env -u EAVE_LAB OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 "
    "OMPI_MCA_btl=^tcp,uct,openib,ofi "
    "OMPI_MCA_odls_base_sigkill_timeout=0 ";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Removes warnings about files that killed jobs left on this machine. They say nothing about the program under test.
std::string without_leftovers(const std::string& errors) {
  std::istringstream lines(errors);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const bool is_whole = !lines.eof();
    if (!line.starts_with("eave: warning: MPI jobs of yours that were killed")) kept += line + (is_whole ? "\n" : "");
  }
  return kept;
}

std::vector<std::string> candidates() {
  std::vector<std::string> found;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const fs::path environments = cache ? fs::path(cache) / "eave" : fs::path(EAVE_SOURCE) / "build";
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(environments, error)) {
    if (entry.path().filename().string().starts_with("pytorch-") && fs::exists(entry.path() / "complete", error))
      found.push_back((entry.path() / "bin/python").string());
  }
  found.insert(found.end(), {"python3", "/usr/bin/python3"});
  return found;
}

}  // namespace

const char* const kQuick =
    " --data synthetic --synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 --epochs 1 --batch 8 "
    "--model \"conv2d 4 3x3 pad 1; relu; max_pool 2; flatten; dense 16; relu; dropout 0.5; dense classes\" "
    "--progress off ";

std::string quick(const std::string& more) { return "train" + std::string(kQuick) + more; }

std::vector<std::string> Ended::messages() const {
  std::vector<std::string> found;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t erased = line.rfind(kEraseLine); erased != std::string::npos) {
      line.erase(0, erased + kEraseLine.size());
    }
    if (line.starts_with("eave: ") && !line.starts_with("eave: warning: ")) found.push_back(line);
  }
  return found;
}

std::string Place::read(const std::string& file) const { return content_of(path() / file); }

void Place::write(const std::string& file, const std::string& content) const {
  fs::create_directories((path() / file).parent_path());
  std::ofstream(path() / file, std::ios::binary) << content;
}

Ended Place::eave(const std::string& words, const Launch& launch) const {
  const std::string before = launch.mpirun_ranks > 0 ? mpirun(launch.mpirun_ranks) : "";
  return run(launch.environment + " timeout -k 5 60 " + before + " " + program() + " " + words);
}

Ended Place::run(const std::string& command) const {
  static std::atomic<int> number{0};
  const std::string own = ".said-" + std::to_string(number++);
  const fs::path output = path() / (own + "-output"), errors = path() / (own + "-errors");
  const int status = std::system(("cd '" + path().string() + "' && " + kEnvironment + command + " </dev/null >'" +
                                  output.string() + "' 2>'" + errors.string() + "'")
                                     .c_str());
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(output), without_leftovers(content_of(errors)),
              command};
  fs::remove(output);
  fs::remove(errors);
  return ended;
}

bool has_mpirun() { return std::string(EAVE_MPIRUN) != ""; }
std::string program() { return std::string("'") + EAVE_PROGRAM + "'"; }
// The leak check is off, because AddressSanitizer would report leaks of MPI's own libraries.
std::string mpirun(int ranks) { return "env ASAN_OPTIONS=detect_leaks=0 " EAVE_MPIRUN " " + std::to_string(ranks); }

std::string python_with(const Place& place, const std::string& package) {
  for (const std::string& python : candidates()) {
    if (place.run("timeout 100 '" + python + "' -c 'import " + package + "'").code == 0) return "'" + python + "'";
  }
  return "";
}

std::string script(const std::string& name) { return "'" EAVE_SOURCE "/test/program/" + name + "'"; }

}  // namespace eave
