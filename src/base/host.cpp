#include "base/host.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/printable.h"

namespace eave {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? printable(name.data()) : "unknown";
}

std::string machine_name() {
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error);  // "pid:[4026531836]"
  std::string name = first_line("/proc/sys/kernel/random/boot_id") + "-";
  for (const char letter : space) {
    if (letter >= '0' && letter <= '9') name += letter;
  }
  return name;
}

// Reads after the last ')': the second field, the program's name, may hold any characters, also blanks and parentheses.
std::optional<long long> start_of_process(long long pid) {
  constexpr int kFieldsBetween = 18;  // between the state (field 3) and the start (field 22)
  const std::string text = first_line("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  std::string state, skipped;
  fields >> state;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  long long start = 0;
  if (!(fields >> start) || state == "Z" || state == "X") return std::nullopt;
  return start;
}

std::string core_binding() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &set)) continue;
    int last = core;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(core) + (last > core ? "-" + std::to_string(last) : "");
    core = last;
  }
  return text;
}

std::set<int> cores_in(const std::string& binding) {
  std::set<int> cores;
  std::istringstream parts(binding);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%4d-%4d", &first, &last);
    if (read < 1) continue;
    for (int core = first; core <= (read == 2 ? last : first); ++core) cores.insert(core);
  }
  return cores;
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace eave
