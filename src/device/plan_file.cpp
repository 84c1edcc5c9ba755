#include "device/plan_file.h"

#include <unistd.h>

#include <cstdint>
#include <sstream>
#include <utility>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTitle = "eave plans 1";
// About 10,000 operations. A larger file is dropped and begun anew.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string line_of(const std::string& operation, const std::string& choice) {
  const std::string content = operation + "\t" + choice;
  return hash_of(content).text() + "\t" + content + "\n";
}

bool is_one_line(const std::string& text) { return text.find_first_of("\t\n\r") == std::string::npos; }

}  // namespace

fs::path plan_folder() { return cache_folder("plans"); }

std::string plans_text(const Plans& plans, const std::string& environment) {
  std::string text = std::string(kTitle) + "\n" + environment + "\n";
  for (const auto& [operation, choice] : plans) text += line_of(operation, choice);
  return text;
}

Plans parse_plans(const std::string& text, const std::string& environment) {
  std::istringstream lines(text);
  std::string title, of;
  if (!std::getline(lines, title) || title != kTitle || !std::getline(lines, of) || of != environment) return {};
  Plans plans;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string operation = line.substr(first + 1, second - first - 1), choice = line.substr(second + 1);
    if (line + "\n" == line_of(operation, choice)) plans[operation] = choice;
  }
  return plans;
}

void PlanFile::open(const std::string& environment) {
  EAVE_CHECK(is_one_line(environment), "a line: " + environment);
  save();
  environment_ = environment;
  known_ = read();
}

std::string PlanFile::find(const std::string& operation) {
  const auto found = known_.find(operation);
  return found == known_.end() ? "" : found->second;
}

void PlanFile::keep(const std::string& operation, const std::string& choice) {
  EAVE_CHECK(is_one_line(operation) && is_one_line(choice), "lines: " + operation + ", " + choice);
  known_[operation] = new_[operation] = choice;
}

void PlanFile::save() noexcept {
  if (new_.empty() || folder_.empty()) return;
  try {
    Plans all = read();
    for (const auto& [operation, choice] : std::exchange(new_, {})) all[operation] = choice;
    write(all);
  } catch (const Error& error) {
    why_not_saved_ = message_of(error);
  } catch (const std::exception& error) {
    why_not_saved_ = error.what();
  }
}

std::string PlanFile::name() const { return hash_of(environment_).text(); }

Plans PlanFile::read() const {
  if (folder_.empty()) return {};
  try {
    return parse_plans(read_file(folder_ / name(), kMostBytes), environment_);
  } catch (const Error&) {
    return {};
  }
}

void PlanFile::write(const Plans& plans) const {
  make_cache_folder(folder_);
  const OutputFolder folder(folder_);
  const OutputPath target = folder / name();
  // The address of `this` is part of the name, because ranks may be threads of one process.
  const OutputPath own = target.with("." + host_name() + "." + std::to_string(::getpid()) + "." +
                                     std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  try {
    write_file_atomically(own, plans_text(plans, environment_));
    rename_file(own, target);
  } catch (const Error&) {
    remove_tree(own);
    throw;
  }
}

}  // namespace eave
