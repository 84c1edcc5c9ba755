// Finds the script in a command, and tells whether it has changed.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "app/compare/program_launch.h"
#include "base/files/input_file.h"
#include "base/hash.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSuffixes = {".py", ".sh", ".bash", ".pl", ".rb", ".jl", ".lua", ".R"};

bool is_file(const std::string& word) {
  std::error_code error;
  return fs::is_regular_file(word, error);
}

bool names_interpreter(const std::string& file) {
  std::array<char, 2> begin{};
  return is_file(file) && std::ifstream(file).read(begin.data(), begin.size()) && begin == std::array{'#', '!'};
}

bool has_suffix_of_script(const std::string& word) {
  return is_file(word) && std::ranges::find(kSuffixes, fs::path(word).extension()) != kSuffixes.end();
}

std::string path_in(const std::string& identity) { return identity.substr(0, identity.rfind(' ')); }

}  // namespace

std::string script_of(const Words& command) {
  if (names_interpreter(command.front())) return command.front();
  const auto script = std::ranges::find_if(command, has_suffix_of_script);
  return script == command.end() ? "" : *script;
}

std::string identity_of_script(const Words& command) {
  constexpr std::uint64_t kLargestScript = 64 << 20;
  const std::string script = script_of(command);
  try {
    return script.empty() ? "" : script + " " + hash_of(read_file(script, kLargestScript)).text();
  } catch (const Error&) {
    return "";
  }
}

void require_same_script(const std::string& saved, const std::string& mine, const std::string& place) {
  if (saved == mine) return;
  const std::string script = "--output: " + path_in(saved);
  throw Error(ExitCode::kConfiguration,
              path_in(saved) == path_in(mine)
                  ? script + " has changed since the runs in " + place +
                        " were made; choose another directory for this comparison"
                  : script + ", the script of the runs in " + place +
                        ", is missing or cannot be read; bring it back, or choose another directory for this "
                        "comparison");
}

}  // namespace eave
