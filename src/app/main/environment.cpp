#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "app/main/commands.h"
#include "app/options/option_sources.h"
#include "base/options/option_values.h"
#include "base/options/spelling.h"
#include "eave/check.h"

namespace eave {
namespace {

using Words = std::span<const std::string>;

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// Whether words are the part of a variable's name after that of the service: service-host, service-port…, port-80-tcp,
// port-80-tcp-addr.
bool ends_as_of_a_service(Words words) {
  if (words.size() < 2) return false;
  if (words[0] == "service") return (words[1] == "host" && words.size() == 2) || words[1] == "port";
  if (words[0] != "port" || !is_number(words[1]) || words.size() < 3 || words.size() > 4) return false;
  return is_one_of(words[2], {"tcp", "udp", "sctp"}) &&
         (words.size() == 3 || is_one_of(words[3], {"addr", "port", "proto"}));
}

// Whether Kubernetes set this variable. In each pod it sets variables for every service in the namespace, here for one
// called eave or eave-…. The value of a port is an address such as tcp://10.0.0.1:80.
bool is_of_a_service(const Assignment& variable) {
  const std::vector<std::string> words = split_text(variable.name, '-');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (ends_as_of_a_service(Words(words).subspan(i))) return true;
  }
  const auto is_address = [&](const char* begin) { return variable.text.starts_with(begin); };
  return words.back() == "port" &&
         (is_address("tcp://") || is_address("udp://") || is_address("sctp://") || is_number(variable.text));
}

// Names that environment modules and package managers set for a package called eave.
constexpr std::array kOfModules = {"root",    "home",    "version", "dir",    "base",        "prefix",    "path",
                                   "bin",     "lib",     "lib64",   "inc",    "include",     "man",       "doc",
                                   "docs",    "share",   "src",     "bindir", "libdir",      "incdir",    "include-dir",
                                   "lib-dir", "bin-dir", "port",    "module", "install-dir", "modulefile"};

// Names that the scripts of eave's own tests and benchmarks read.
constexpr std::array kOfTests = {"lab",         "program", "source",  "mpirun", "mpi-environment",
                                 "cuda-module", "flips",   "gpu-pack"};

// Names that eave compare --program sets for each run, and include/python/eave/_program.py reads.
constexpr std::array kOfPrograms = {"program-communicator", "program-seed",  "program-lr",
                                    "program-batch",        "program-steps", "program-seconds"};

bool is_known_to_be_foreign(const Assignment& variable) {
  const auto is_called = [&](const char* name) { return variable.name == name; };
  return std::ranges::any_of(kOfModules, is_called) || std::ranges::any_of(kOfTests, is_called) ||
         std::ranges::any_of(kOfPrograms, is_called);
}

// Whether another command has this option: EAVE_SEEDS is for compare, and not a misspelt option of train.
bool is_of_another_command(const std::string& name) {
  return std::ranges::any_of(
      commands(), [&](const NamedCommand& command) { return command.options().declared().entries().contains(name); });
}

void add_setting(std::vector<Assignment>& settings, const Assignment& variable) {
  const auto twin = std::ranges::find(settings, variable.name, &Assignment::name);
  if (twin != settings.end() && twin->text != variable.text) {
    throw Error(ExitCode::kUsage, "--" + variable.name + " is set twice: " + twin->source + " is " + twin->text +
                                      ", and " + variable.source + " is " + variable.text + "; unset one");
  }
  settings.push_back(variable);
}

}  // namespace

Environment read_environment(const char* const* environment, const OptionValues& values) {
  Environment found;
  std::vector<std::string> options;
  for (const auto& [name, unused] : values.entries()) options.push_back(name);
  for (const Assignment& variable : from_environment(environment)) {
    if (is_of_a_service(variable)) continue;
    if (values.entries().contains(variable.name)) {
      add_setting(found.settings, variable);
      continue;
    }
    if (is_known_to_be_foreign(variable) || is_of_another_command(variable.name)) continue;
    if (const std::string meant = misspelt_option(variable.name, options); !meant.empty()) {
      throw Error(ExitCode::kUsage, "unknown option --" + variable.name + " (" + variable.source +
                                        "); did you mean --" + meant + "? If it is not for eave, unset it here");
    }
    found.unknown.push_back(variable.source.substr(variable.source.find("EAVE_")));
  }
  return found;
}

std::vector<const char*> environment_without(const char* const* environment, const std::set<std::string>& names) {
  std::vector<const char*> kept;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const char* const one[] = {*environment, nullptr};
    const std::vector<Assignment> read = from_environment(one);
    if (read.empty() || !names.contains(read.front().name)) kept.push_back(*environment);
  }
  kept.push_back(nullptr);
  return kept;
}

std::string describe_unknown_variables(const std::vector<std::string>& unknown) {
  constexpr std::size_t kMost = 8;
  if (unknown.empty()) return "";
  const std::size_t shown = std::min(unknown.size(), kMost);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == unknown.size() && i > 0;
    text += (i == 0 ? "" : is_last ? " and " : ", ") + unknown[i];
  }
  if (unknown.size() > shown) text += " and " + std::to_string(unknown.size() - shown) + " more";
  return text + (unknown.size() == 1 ? " is no option of eave, and has no effect"
                                     : " are no options of eave, and have no effect");
}

}  // namespace eave
