#include "app/options/option_sources.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "base/files/content_kind.h"
#include "base/files/input_file.h"
#include "base/files/user_path.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "transport/job/launchers.h"

namespace eave {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kEnvironmentPrefix = "EAVE_";
constexpr std::size_t kConfigLimitBytes = std::size_t{1} << 20;

po::options_description describe_to_boost(const OptionValues& values) {
  po::options_description description;
  for (const auto& [name, entry] : values.entries()) {
    auto* value = po::value<std::string>();
    if (may_stand_alone(entry.spec)) value->implicit_value("on");
    description.add_options()(name.c_str(), value, entry.spec.help.c_str());
  }
  return description;
}

// Boost substitutes the text that was read into its message, and then looks for placeholders in that text. A
// placeholder for itself, such as "%invalid_line%", would make it loop forever.
std::string said_by(const po::error& error, const std::string& read) {
  return read.find('%') == std::string::npos ? error.what() : "cannot be understood";
}

std::string joined_value(const po::option& option) { return option.value.empty() ? "" : option.value.back(); }

// nullptr if there is no such option.
const OptionSpec* find_spec(const OptionValues& values, const std::string& name) {
  const auto found = values.entries().find(name);
  return found == values.entries().end() ? nullptr : &found->second.spec;
}

bool is_path(const OptionSpec& spec) { return spec.type == OptionType::kPath || spec.type == OptionType::kPaths; }
bool is_free_text(const OptionSpec& spec) { return spec.type == OptionType::kText && spec.choices.empty(); }

void require_value(const OptionValues& values, const Assignment& assignment) {
  const OptionSpec* const spec = find_spec(values, assignment.name);
  if (!spec || !(is_free_text(*spec) ? assignment.text : trimmed(assignment.text)).empty()) return;
  throw Error(ExitCode::kUsage, "--" + assignment.name + " (" + assignment.source + ") needs a value: " + spec->help);
}

// A file may not load code: the file can come from another person.
void refuse_code(const OptionSpec& spec, const std::string& path) {
  if (!spec.never_from_file) return;
  std::string variable(kEnvironmentPrefix);
  for (const char c : spec.name)
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  throw Error(ExitCode::kUsage, path + ": --" + spec.name +
                                    " names code, and is not taken from a file; give it on the command line or as " +
                                    variable);
}

void require_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  throw Error(ExitCode::kInputMissing,
              "--config: no file " + path + "; give the path of a text file with lines such as 'tau = 10'");
}

void refuse_other_content(const std::string& content, const std::string& path) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(content.data());
  const ContentKind kind = content_kind({bytes, std::min(content.size(), kContentBytes)});
  if (kind.what.empty() || kind.group == ContentGroup::kText || kind.group == ContentGroup::kEmpty) return;
  throw Error(ExitCode::kUsage, path + ": it is " + kind.what + "; expected text with lines such as 'tau = 10'");
}

// Refuses bytes that are not text. A damaged line may have lost its line end, so that the next setting has become part
// of a comment. The message leaves out such bytes, because they are not safe for a terminal.
void refuse_other_encodings(const std::string& line, const std::string& place) {
  if (line.find('\0') != std::string::npos) {
    throw Error(ExitCode::kUsage, place + ": it contains a zero byte, so it is not text; get the file again");
  }
  if (is_utf8(line)) return;
  throw Error(ExitCode::kUsage,
              place + ": it is not UTF-8 text; save the file as UTF-8, or get it again if it is damaged");
}

void refuse_no_setting(const std::string& line, const std::string& place) {
  const std::string_view text = trimmed(line);
  const bool is_remark = text.starts_with(';') || text.starts_with("//");
  if (!is_remark && !text.starts_with('=')) return;
  throw Error(ExitCode::kUsage, place + ": '" + std::string(text) + "' " +
                                    (is_remark ? "is no setting; a remark begins with #"
                                               : "names no option before its =; expected lines such as 'tau = 10'"));
}

// Removes the byte order mark that some editors write first: it is not part of a name. Refuses a # that would silently
// cut a value short, as in run-dir = runs/a#1.
std::string settings_text(const std::string& content, const std::string& path) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF"))
    throw Error(ExitCode::kUsage, path + ": it is UTF-16 text; save it as UTF-8");
  std::string text = content.starts_with(kMark) ? content.substr(kMark.size()) : content;
  if (text.find('\n') == std::string::npos) std::ranges::replace(text, '\r', '\n');  // line ends of very old editors
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string place = path + ", line " + std::to_string(number);
    refuse_other_encodings(line, place);
    refuse_no_setting(line, place);
    const std::size_t remark = line.find('#'), equals = line.find('=');
    if (remark == std::string::npos || equals > remark || remark == equals + 1) continue;
    if (std::isspace(static_cast<unsigned char>(line[remark - 1]))) continue;
    throw Error(ExitCode::kUsage, place + ": '" + std::string(trimmed(line)) +
                                      "': # begins a remark; put a blank before it. A value cannot contain #");
  }
  return text;
}

// Refuses quotes around a value: in a file they would become part of it.
void refuse_quotes(const OptionSpec& spec, const std::string& text, const std::string& path) {
  if (!has_quotes(spec, text)) return;
  throw Error(ExitCode::kUsage,
              path + ": --" + spec.name + " " + text + ": leave out the quotes; a value is the whole line");
}

// Refuses a comment after ;, which other programs' files have. Texts, such as a model, may contain a ;.
void refuse_remark(const OptionSpec& spec, const std::string& text, const std::string& path) {
  if (is_path(spec) || is_free_text(spec) || text.find(';') == std::string::npos) return;
  throw Error(ExitCode::kUsage, path + ": --" + spec.name + " " + text + ": a remark begins with #, not with ;");
}

void refuse_twin(const std::vector<Assignment>& assignments, const std::string& name, const std::string& text,
                 const std::string& path) {
  const auto twin = std::ranges::find(assignments, name, &Assignment::name);
  if (twin == assignments.end()) return;
  throw Error(ExitCode::kUsage,
              path + ": --" + name + " is given twice, as " + twin->text + " and as " + text + "; keep one");
}

}  // namespace

bool may_stand_alone(const OptionSpec& spec) {
  return spec.type == OptionType::kFlag || std::ranges::find(spec.choices, "on") != spec.choices.end();
}

// A free text may begin with a quoted word, and go on.
bool has_quotes(const OptionSpec& spec, const std::string& text) {
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return false;
  return !is_free_text(spec) || text.find(text.front(), 1) == text.size() - 1;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80                   ? 1
                               : first < 0xC2 || first > 0xF4 ? 0
                               : first < 0xE0                 ? 2
                               : first < 0xF0                 ? 3
                                                              : 4;
    if (length == 0 || at + length > text.size()) return false;
    for (std::size_t i = at + 1; i < at + length; ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
    }
    at += length;
  }
  return true;
}

std::vector<Assignment> from_command_line(const std::vector<std::string>& words, const OptionValues& values) {
  const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing &
                     ~po::command_line_style::allow_short;
  std::vector<Assignment> assignments;
  try {
    const po::options_description description = describe_to_boost(values);
    const auto parsed = po::command_line_parser(words).options(description).style(style).allow_unregistered().run();
    for (const po::option& option : parsed.options) {
      // The value of a misspelt option looks like a stray word. Return the option instead, so that the message names
      // it.
      if (option.unregistered && !option.string_key.empty()) return {{option.string_key, "", "command line"}};
    }
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0 || option.string_key.empty()) {
        throw Error(ExitCode::kUsage,
                    "unexpected word '" + joined_value(option) + "'; options begin with --, see --help");
      }
      std::string text = joined_value(option);
      const bool is_bare = option.original_tokens.size() < 2;  // true for --flip, false for --flip ''
      const OptionSpec* const spec = find_spec(values, option.string_key);
      if (text.empty() && is_bare && spec && may_stand_alone(*spec)) text = "on";
      assignments.push_back({option.string_key, text, "command line"});
    }
  } catch (const po::error& error) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
    throw Error(ExitCode::kUsage, said_by(error, all) + "; see --help");
  }
  return assignments;
}

namespace {

// Whether the path names a stream of this process. Only the name can tell: under mpirun, rank 0's standard input is a
// pipe, and that of other ranks is not.
bool is_own_stream(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// Refuses a pipe if there are several ranks: each rank reads the file, and a pipe gives its content to one reader only.
void refuse_pipe_for_ranks(const std::string& path) {
  const std::string kind = is_own_stream(path) ? "a stream of one process" : kind_instead_of_file(path);
  const auto promised = promised_ranks();
  const bool is_read_alike = kind.empty() || path == "/dev/null" || std::filesystem::is_directory(path);
  if (is_read_alike || !promised || promised->ranks < 2) return;
  throw Error(ExitCode::kUsage, "--config " + path + " is " + kind + ", which only one of " +
                                    count_text(promised->ranks, "rank") + " could read; write the settings to a file");
}

// Reads a file once and keeps its text: a comparison reads the options for each run, and a pipe gives them only once.
std::string read_once(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::string> read_before;
  if (!is_own_stream(path) && kind_instead_of_file(path).empty()) return read_named_file(path, kConfigLimitBytes);
  const std::lock_guard lock(mutex);
  const auto known = read_before.find(path);
  if (known != read_before.end()) return known->second;
  return read_before.emplace(path, read_named_file(path, kConfigLimitBytes)).first->second;
}

}  // namespace

std::vector<Assignment> from_file(const std::string& path, const OptionValues& values) {
  refuse_pipe_for_ranks(path);
  require_file(path);
  const std::string whole = read_once(path);
  refuse_other_content(whole, path);
  const std::string content = settings_text(whole, path);
  std::istringstream text(content);
  std::vector<Assignment> assignments;
  try {
    for (const po::option& option : po::parse_config_file(text, describe_to_boost(values), true).options) {
      if (option.string_key == "config") {
        throw Error(ExitCode::kUsage, path + ": a configuration file cannot name another one");
      }
      if (const OptionSpec* const spec = find_spec(values, option.string_key)) {
        refuse_code(*spec, path);
        refuse_remark(*spec, joined_value(option), path);
        refuse_quotes(*spec, joined_value(option), path);
      }
      refuse_twin(assignments, option.string_key, joined_value(option), path);
      assignments.push_back({option.string_key, joined_value(option), "file " + path});
    }
  } catch (const po::invalid_config_file_syntax& error) {
    throw Error(ExitCode::kUsage, path + ": '" + error.tokens() + "' is no setting; expected lines such as 'tau = 10'");
  } catch (const po::error& error) {
    throw Error(ExitCode::kUsage, path + ": " + said_by(error, content) + "; expected lines such as 'tau = 10'");
  }
  return assignments;
}

std::vector<Assignment> from_environment(const char* const* environment) {
  std::vector<Assignment> assignments;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(kEnvironmentPrefix) || equals == std::string_view::npos) continue;
    std::string name(variable.substr(kEnvironmentPrefix.size(), equals - kEnvironmentPrefix.size()));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
    assignments.push_back(
        {name, std::string(variable.substr(equals + 1)), "environment " + std::string(variable.substr(0, equals))});
  }
  return assignments;
}

std::string text_of(const std::vector<Assignment>& assignments, const std::string& name) {
  std::string text;
  for (const Assignment& assignment : assignments) {
    if (assignment.name == name) text = assignment.text;
  }
  return text;
}

void assign(OptionValues& values, const std::vector<Assignment>& assignments) {
  for (const Assignment& assignment : assignments) {
    require_value(values, assignment);
    values.set(assignment.name, assignment.text, assignment.source);
  }
}

}  // namespace eave
