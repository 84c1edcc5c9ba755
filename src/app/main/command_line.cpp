#include "app/main/command_line.h"

#include <algorithm>
#include <array>
#include <set>

#include "app/main/plugins.h"
#include "app/options/option_sources.h"
#include "base/files/user_path.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {
namespace {

// Throws if a configuration file cannot hold the value. A file has no quotes: a value ends at the end of the line or at
// #, and spaces around it are dropped.
void require_writable(const OptionValues::Entry& entry) {
  const std::string& text = entry.text;
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  const bool is_framed = !text.empty() && (is_blank(text.front()) || is_blank(text.back()));
  std::string seen = text;  // --print-config shows it on a terminal, where tabs are harmless
  std::ranges::replace(seen, '\t', ' ');
  if (!is_framed && !has_quotes(entry.spec, text) && text.find('#') == std::string::npos && printable(seen) == seen)
    return;
  throw Error(
      ExitCode::kUsage,
      "--print-config: a configuration file cannot hold --" + entry.spec.name + " '" + text + "' (" + entry.source +
          "), because it contains #, a control character, a blank at an end, or bytes that are not UTF-8, or it "
          "begins with a quote; give it on the command line");
}

constexpr const char* kEndOfOptions = "--";

constexpr std::array kForms = {
    ValueForm{OptionType::kInteger, "N", "a whole number in decimal digits"},
    ValueForm{OptionType::kReal, "X", "a number such as 0.1 or 1e-3, with a decimal point"},
    ValueForm{OptionType::kFlag, "on|off", "the bare option means on"},
    ValueForm{OptionType::kPath, "PATH",
              "a file or directory; a leading ~ or ~user is a home directory, and ./~ is a file named ~"},
    ValueForm{OptionType::kPaths, "PATHS", "several paths, with commas between"},
    ValueForm{OptionType::kBytes, "SIZE", kSizeForms},
    ValueForm{OptionType::kSeconds, "TIME", kTimeForms},
    ValueForm{OptionType::kRate, "RATE", kRateForms},
};

// Explains how to write values, for those types among the options that need it.
std::string forms_of(const std::vector<CommandLine::Group>& groups) {
  std::string text;
  for (const ValueForm& form : kForms) {
    const auto has_type = [&](const CommandLine::Group& group) {
      return std::ranges::find(group.options, form.type, &OptionSpec::type) != group.options.end();
    };
    const bool is_plain =
        form.type == OptionType::kInteger || form.type == OptionType::kReal || form.type == OptionType::kFlag;
    if (is_plain || std::ranges::none_of(groups, has_type)) continue;
    text += (text.empty() ? "\n" : "") + std::string(form.hint) + ": " + form.text + "\n";
  }
  return text;
}

std::string help_line(const CommandLine& line, const OptionSpec& spec) {
  std::string text = "  --" + spec.name + " " + CommandLine::value_hint(spec);
  text.resize(std::max<std::size_t>(text.size() + 2, 34), ' ');
  return text + line.explain(spec) + "\n";
}

}  // namespace

std::string CommandLine::value_hint(const OptionSpec& spec) {
  if (!spec.choices.empty()) {
    std::string hint;
    for (const std::string& choice : spec.choices) hint += (hint.empty() ? "" : "|") + choice;
    return hint.size() <= 34 ? hint : "NAME";
  }
  const auto form = std::ranges::find(kForms, spec.type, &ValueForm::type);
  return form == kForms.end() ? "TEXT" : form->hint;
}

std::span<const ValueForm> value_forms() { return kForms; }

void CommandLine::add_group(const std::string& title, const std::vector<OptionSpec>& options) {
  groups_.push_back({title, options, {}});
}

void CommandLine::add_family(const std::string& title, const OptionSpec& selector, const std::vector<Member>& members) {
  Group group{title, {selector}, {}};
  const std::size_t group_size = selector.choices.size() + members.size();
  for (const Member& member : members) {
    group.options.front().choices.push_back(member.name);
    group.members.emplace_back(member.name, member.summary);
    // Members of a family may share an option, which is then disabled once for each of them.
    for (const std::string& option : std::set<std::string>(member.disables.begin(), member.disables.end()))
      disablers_[option].push_back({selector.name, member.name});
    for (const OptionSpec& option : member.options) {
      Owner& owner = owners_[option.name];
      const auto known = std::ranges::find(group.options, option.name, &OptionSpec::name);
      if (known == group.options.end()) {
        group.options.push_back(option);
      } else if (known->type != option.type || known->choices != option.choices) {
        throw Error(ExitCode::kInternal, "option --" + option.name + " is declared twice, differently");
      }
      owner.selector = selector.name;
      owner.members_of_selector = group_size;
      owner.defaults[member.name] = option.default_text;
    }
  }
  groups_.push_back(group);
}

OptionValues CommandLine::declared() const {
  OptionValues values;
  for (const Group& group : groups_) {
    for (const OptionSpec& option : group.options) values.declare(option);
  }
  return values;
}

OptionValues CommandLine::read(const std::vector<std::string>& words, const char* const* environment,
                               const std::set<std::string>& left_out) const {
  OptionValues values = declared();
  const std::vector<Assignment> typed = from_command_line(words, values);
  const std::vector<Assignment> exported = read_environment(environment, values).settings;
  std::string config = text_of(typed, "config");
  if (config.empty()) config = text_of(exported, "config");
  const auto assign_others = [&](std::vector<Assignment> settings) {
    std::erase_if(settings, [&](const Assignment& each) { return left_out.contains(each.name); });
    assign(values, settings);
  };
  if (!config.empty()) assign_others(from_file(path_of_word(config, "--config"), values));
  assign_others(exported);
  assign(values, typed);
  return values;
}

OptionValues CommandLine::parse(const std::vector<std::string>& words, const char* const* environment,
                                const std::set<std::string>& left_out) const {
  OptionValues values = read(words, environment, left_out);
  for (const auto& [name, expand] : expanded_) {
    if (values.given(name)) values.set(name, expand(values.text(name)), values.entry(name).source);
  }
  set_defaults_of_chosen_members(values);
  refuse_options_without_effect(values);
  return values;
}

std::string CommandLine::warn_of_variables(const char* const* environment) const {
  return describe_unknown_variables(read_environment(environment, declared()).unknown);
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
    const std::string others = options_of(*disabler);
    throw Error(ExitCode::kUsage, "--" + name + " (" + values.entry(name).source + ") has no effect with --" +
                                      disabler->selector + " " + disabler->member + "; leave it out" +
                                      (others.empty() ? "" : " (options of " + disabler->member + ": " + others + ")"));
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
  for (const auto& [name, derive] : derived_) {
    if (std::string text = derive(values); !text.empty()) values.set_default(name, std::move(text));
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

std::string CommandLine::explain(const OptionSpec& option) const {
  std::string text = option.help;
  const std::string hint = default_hint(option);
  if (!hint.empty()) text += " [" + hint + "]";
  const std::string owners = owners_of(option);
  return owners.empty() ? text : text + " (" + owners + ")";
}

std::string CommandLine::owners_of(const OptionSpec& option) const {
  const auto owner = owners_.find(option.name);
  if (owner == owners_.end() || owner->second.defaults.size() == owner->second.members_of_selector) return "";
  return members_of(owner->second);
}

std::string CommandLine::disablers_of(const OptionSpec& option) const {
  const auto disablers = disablers_.find(option.name);
  if (disablers == disablers_.end()) return "";
  std::string text, selector;
  for (const Disabler& each : disablers->second) {
    text += (text.empty() ? "" : ", ") + (each.selector == selector ? "" : "--" + each.selector + " ") + each.member;
    selector = each.selector;
  }
  return text;
}

std::string CommandLine::help() const {
  std::string text = usage_ + "\n";
  for (const Group& group : groups_) {
    text += "\n" + group.title + "\n";
    for (const OptionSpec& option : group.options) {
      text += help_line(*this, option);
      if (&option != &group.options.front() || group.members.empty()) continue;
      for (const auto& [name, summary] : group.members) {
        text += "      " + name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + summary + "\n";
      }
    }
  }
  text += forms_of(groups_);
  if (!declared().entries().contains("config")) return text;
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
      std::string line = (entry.is_set && !option.never_from_file ? "" : "# ") + option.name + " = " + entry.text;
      line.resize(std::max<std::size_t>(line.size() + 2, 34), ' ');
      text += line + "# " + printable(entry.source) + "\n";
    }
  }
  return text;
}

std::map<std::string, std::string> CommandLine::config_in_force(const OptionValues& values) const {
  std::map<std::string, std::string> config;
  for (const std::string& name : effective(values)) {
    if (values.has(name)) config[name] = values.text(name);
  }
  if (const std::string hash = plugin_hash(values); !hash.empty()) config["plugin-file"] = hash;
  return config;
}

namespace {

// Whether the word behind this one is its value: that of an option, or on or off of a flag.
bool takes_next(const OptionValues& declared, const std::vector<std::string>& words, std::size_t place) {
  const std::string name = words[place].starts_with("--") ? words[place].substr(2) : "";
  const auto option = declared.entries().find(name);
  if (option == declared.entries().end() || place + 1 == words.size()) return false;
  return !may_stand_alone(option->second.spec) || words[place + 1] == "on" || words[place + 1] == "off";
}

}  // namespace

PathsAndValues read_paths(const CommandLine& line, const std::vector<std::string>& words, const std::string& what,
                          const std::string& missing) {
  std::vector<std::string> options, names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kEndOfOptions) {
      names.insert(names.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    const bool is_option = words[i].starts_with("--");
    (is_option ? options : names).push_back(words[i]);
    const bool has_value = words[i].find('=') != std::string::npos;
    if (is_option && !has_value && i + 1 < words.size()) options.push_back(words[++i]);
  }
  PathsAndValues found{{}, line.parse(options)};
  if (names.empty()) throw Error(ExitCode::kUsage, missing);
  for (const std::string& name : names) found.paths.emplace_back(path_of_word(name, what));
  return found;
}

PathsAndValues read_first_path(const CommandLine& line, const std::vector<std::string>& words, const std::string& what,
                               const std::string& missing) {
  const OptionValues declared = line.declared();
  std::vector<std::string> options, operands;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kEndOfOptions) {
      operands.insert(operands.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    (words[i].starts_with("-") ? options : operands).push_back(words[i]);
    if (takes_next(declared, words, i)) options.push_back(words[++i]);
  }
  if (operands.empty()) throw Error(ExitCode::kUsage, missing);
  PathsAndValues found{{}, line.parse(options)};
  if (operands.size() > 1)
    throw Error(ExitCode::kUsage,
                "unexpected word '" + operands[1] + "' after " + operands[0] + "; expected one " + what);
  found.paths.emplace_back(path_of_word(operands[0], what));
  return found;
}

}  // namespace eave
