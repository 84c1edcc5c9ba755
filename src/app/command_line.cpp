#include "app/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kEnvironmentPrefix = "EAVE_";
constexpr std::size_t kConfigLimitBytes = std::size_t{1} << 20;

struct Assignment {
  std::string name, text, source;
};

po::options_description describe_to_boost(const OptionValues& values) {
  po::options_description description;
  for (const auto& [name, entry] : values.entries()) {
    auto* value = po::value<std::string>();
    if (entry.spec.type == OptionType::kFlag) value->implicit_value("on");
    description.add_options()(name.c_str(), value, entry.spec.help.c_str());
  }
  return description;
}

std::string joined_value(const po::option& option) { return option.value.empty() ? "" : option.value.back(); }

bool is_flag(const OptionValues& values, const std::string& name) {
  const auto found = values.entries().find(name);
  return found != values.entries().end() && found->second.spec.type == OptionType::kFlag;
}

void require_value(const OptionValues& values, const Assignment& assignment) {
  const auto found = values.entries().find(assignment.name);
  if (found == values.entries().end() || found->second.spec.type == OptionType::kFlag || !assignment.text.empty())
    return;
  throw Error(ExitCode::kUsage,
              "--" + assignment.name + " (" + assignment.source + ") needs a value: " + found->second.spec.help);
}

std::vector<Assignment> from_command_line(const std::vector<std::string>& words, const OptionValues& values) {
  const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing &
                     ~po::command_line_style::allow_short;
  std::vector<Assignment> assignments;
  try {
    const po::options_description description = describe_to_boost(values);
    const auto parsed = po::command_line_parser(words).options(description).style(style).allow_unregistered().run();
    for (const po::option& option : parsed.options) {
      // The value of a misspelt option looks like a stray word: name the option instead.
      if (option.unregistered && !option.string_key.empty()) return {{option.string_key, "", "command line"}};
    }
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0 || option.string_key.empty()) {
        throw Error(ExitCode::kUsage,
                    "unexpected word '" + joined_value(option) + "'; options begin with --, see --help");
      }
      std::string text = joined_value(option);
      if (text.empty() && is_flag(values, option.string_key)) text = "on";
      assignments.push_back({option.string_key, text, "command line"});
    }
  } catch (const po::error& error) {
    throw Error(ExitCode::kUsage, std::string(error.what()) + "; see --help");
  }
  return assignments;
}

std::vector<Assignment> from_file(const std::string& path, const OptionValues& values) {
  std::istringstream text(read_file(path, kConfigLimitBytes));
  std::vector<Assignment> assignments;
  try {
    for (const po::option& option : po::parse_config_file(text, describe_to_boost(values), true).options) {
      if (option.string_key == "config") {
        throw Error(ExitCode::kUsage, path + ": a configuration file cannot name another one");
      }
      assignments.push_back({option.string_key, joined_value(option), "file " + path});
    }
  } catch (const po::error& error) {
    throw Error(ExitCode::kUsage, path + ": " + error.what() + "; expected lines such as 'tau = 10'");
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

// A configuration file has no quotes: a value ends with its line or at #, and the spaces around it are not its own.
void require_writable(const OptionValues::Entry& entry) {
  const std::string& text = entry.text;
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  const bool is_framed = !text.empty() && (is_blank(text.front()) || is_blank(text.back()));
  if (!is_framed && text.find_first_of("#\n\r") == std::string::npos) return;
  throw Error(ExitCode::kUsage, "--print-config: a configuration file cannot hold --" + entry.spec.name + " '" + text +
                                    "' (" + entry.source +
                                    "): no value in it has a #, a line break, or blanks at its ends; give this one on "
                                    "the command line");
}

std::string value_hint(const OptionSpec& spec) {
  if (!spec.choices.empty()) {
    std::string hint;
    for (const std::string& choice : spec.choices) hint += (hint.empty() ? "" : "|") + choice;
    return hint.size() <= 34 ? hint : "NAME";
  }
  switch (spec.type) {
    case OptionType::kInteger:
      return "N";
    case OptionType::kReal:
      return "X";
    case OptionType::kFlag:
      return "on|off";
    case OptionType::kBytes:
      return "SIZE";
    case OptionType::kSeconds:
      return "TIME";
    case OptionType::kRate:
      return "RATE";
    case OptionType::kText:
      break;
  }
  return "TEXT";
}

std::string help_line(const OptionSpec& spec, const std::string& default_hint) {
  std::string line = "  --" + spec.name + " " + value_hint(spec);
  line.resize(std::max<std::size_t>(line.size() + 2, 34), ' ');
  line += spec.help;
  if (!default_hint.empty()) line += " [" + default_hint + "]";
  return line + "\n";
}

}  // namespace

void CommandLine::add_group(const std::string& title, const std::vector<OptionSpec>& options) {
  groups_.push_back({title, options, {}});
}

void CommandLine::add_family(const std::string& title, const OptionSpec& selector, const std::vector<Member>& members) {
  Group group{title, {selector}, {}};
  for (const Member& member : members) {
    group.options.front().choices.push_back(member.name);
    group.members.emplace_back(member.name, member.summary);
    for (const std::string& option : member.disables) disablers_[option].push_back({selector.name, member.name});
    for (const OptionSpec& option : member.options) {
      Owner& owner = owners_[option.name];
      const auto known = std::ranges::find(group.options, option.name, &OptionSpec::name);
      if (known == group.options.end()) {
        group.options.push_back(option);
      } else {
        EAVE_CHECK(known->type == option.type && known->choices == option.choices,
                   "option --" + option.name + " is declared twice, differently");
      }
      owner.selector = selector.name;
      owner.defaults[member.name] = option.default_text;
    }
  }
  groups_.push_back(group);
}

OptionValues CommandLine::parse(const std::vector<std::string>& words, const char* const* environment) const {
  OptionValues values;
  for (const Group& group : groups_) {
    for (const OptionSpec& option : group.options) values.declare(option);
  }
  const std::vector<Assignment> typed = from_command_line(words, values);
  const std::vector<Assignment> exported = from_environment(environment);
  std::string config = text_of(typed, "config");
  if (config.empty()) config = text_of(exported, "config");
  if (!config.empty()) assign(values, from_file(config, values));
  assign(values, exported);
  assign(values, typed);
  set_defaults_of_chosen_members(values);
  refuse_options_without_effect(values);
  return values;
}

const CommandLine::Disabler* CommandLine::disabler_of(const OptionValues& values, const std::string& name) const {
  const auto disablers = disablers_.find(name);
  if (disablers == disablers_.end()) return nullptr;
  for (const Disabler& disabler : disablers->second) {
    if (values.text(disabler.selector) == disabler.member) return &disabler;
  }
  return nullptr;
}

// "--tau, --alpha"
std::string CommandLine::options_of(const Disabler& disabler) const {
  std::string options;
  for (const auto& [name, owner] : owners_) {
    if (owner.selector != disabler.selector || !owner.defaults.contains(disabler.member)) continue;
    options += (options.empty() ? "--" : ", --") + name;
  }
  return options;
}

bool CommandLine::has_effect(const OptionValues& values, const std::string& name) const {
  if (disabler_of(values, name)) return false;
  const auto owner = owners_.find(name);
  return owner == owners_.end() || owner->second.defaults.contains(values.text(owner->second.selector));
}

void CommandLine::refuse_options_without_effect(const OptionValues& values) const {
  for (const auto& [name, unused] : disablers_) {
    const Disabler* const disabler = disabler_of(values, name);
    if (!disabler || !values.given(name)) continue;
    throw Error(ExitCode::kUsage, "--" + name + " (" + values.entry(name).source + ") has no effect with --" +
                                      disabler->selector + " " + disabler->member + ", which has " +
                                      options_of(*disabler));
  }
  for (const auto& [name, owner] : owners_) {
    if (!values.given(name) || has_effect(values, name)) continue;
    throw Error(ExitCode::kUsage, "--" + name + " (" + values.entry(name).source + ") has no effect with --" +
                                      owner.selector + " " + values.text(owner.selector) + "; it belongs to " +
                                      members_of(owner));
  }
}

std::string CommandLine::members_of(const Owner& owner) {
  std::string members;
  for (const auto& [member, unused] : owner.defaults) members += (members.empty() ? "" : ", ") + member;
  return members;
}

void CommandLine::set_defaults_of_chosen_members(OptionValues& values) const {
  for (const auto& [name, owner] : owners_) {
    const auto chosen = owner.defaults.find(values.text(owner.selector));
    if (chosen != owner.defaults.end()) values.set_default(name, chosen->second);
  }
}

// "10; 500 with diloco"
std::string CommandLine::default_hint(const OptionSpec& option) const {
  std::string hint = option.default_text;
  const auto owner = owners_.find(option.name);
  if (owner == owners_.end()) return hint;
  for (const auto& [member, text] : owner->second.defaults) {
    if (text == option.default_text) continue;
    hint += (hint.empty() ? "" : "; ") + (text.empty() ? "none" : text) + " with " + member;
  }
  return hint;
}

std::string CommandLine::help() const {
  std::string text = usage_ + "\n";
  for (const Group& group : groups_) {
    text += "\n" + group.title + "\n";
    for (const OptionSpec& option : group.options) {
      std::string line = help_line(option, default_hint(option));
      const auto owner = owners_.find(option.name);
      if (owner != owners_.end() && owner->second.defaults.size() < group.options.front().choices.size()) {
        line.insert(line.size() - 1, " (" + members_of(owner->second) + ")");
      }
      text += line;
      if (&option != &group.options.front() || group.members.empty()) continue;
      for (const auto& [name, summary] : group.members) {
        text += "      " + name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + summary + "\n";
      }
    }
  }
  return text +
         "\nValues come from defaults, then a file (--config), then the environment (EAVE_BATCH=64 for --batch), then "
         "the\n"
         "command line; --print-config shows each value and where it came from.\n";
}

std::vector<std::string> CommandLine::effective(const OptionValues& values) const {
  std::vector<std::string> names;
  for (const Group& group : groups_) {
    for (const OptionSpec& option : group.options) {
      if (has_effect(values, option.name)) names.push_back(option.name);
    }
  }
  return names;
}

std::string CommandLine::describe(const OptionValues& values) const {
  std::string text;
  for (const Group& group : groups_) {
    text += (text.empty() ? "# " : "\n# ") + group.title + "\n";
    for (const OptionSpec& option : group.options) {
      if (!has_effect(values, option.name) || option.name == "print-config" || option.name == "config") continue;
      const OptionValues::Entry& entry = values.entry(option.name);
      if (entry.is_set) require_writable(entry);
      std::string line = (entry.is_set ? "" : "# ") + option.name + " = " + entry.text;
      line.resize(std::max<std::size_t>(line.size() + 2, 34), ' ');
      text += line + "# " + entry.source + "\n";
    }
  }
  return text;
}

}  // namespace eave
