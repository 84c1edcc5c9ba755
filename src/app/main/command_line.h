// Declares options and reads them from four places. Later places override earlier ones: default, file (--config),
// environment (EAVE_*), command line.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eave/options.h"

namespace eave {

// The options of one subcommand, in groups. Each member of a family (communicators, datasets, …) adds its own options,
// which have an effect only while that member is chosen.
class CommandLine {
 public:
  // `usage` is the start of --help.
  explicit CommandLine(std::string usage) : usage_(std::move(usage)) {}

  void add_group(const std::string& title, const std::vector<OptionSpec>& options);

  // Declares `--<selector>` with its members as choices, after the choices that it already has, and declares each
  // member's options. Members that share an option must agree in all but its default. The chosen member's default
  // applies.
  struct Member {
    std::string name;
    std::string summary;
    std::vector<OptionSpec> options;
    std::vector<std::string> disables = {};  // options and selectors that have no effect with this member
  };
  void add_family(const std::string& title, const OptionSpec& selector, const std::vector<Member>& members);

  // The default of the option `name` follows from other options: parse() sets what `derive` returns, unless it is "".
  void derive_default(const std::string& name, std::string (*derive)(const OptionValues& values)) {
    derived_[name] = derive;
  }
  // If the option `name` is given, parse() replaces its text by how(text).
  void expand(const std::string& name, std::string (*how)(const std::string& text)) { expanded_[name] = how; }

  OptionValues declared() const;  // every option, with its default

  // Reads options from all places. Throws Error(kUsage): unknown names (with the likely one), wrong values, and options
  // without effect because of the chosen members. `environment` is main's, null-terminated. Pass nullptr for a command
  // that EAVE_* do not concern, because they are settings of a training. Options of `left_out` are ignored unless
  // `words` has them.
  OptionValues parse(const std::vector<std::string>& words, const char* const* environment = nullptr,
                     const std::set<std::string>& left_out = {}) const;

  // The options from all places, before parse() compares them with each other.
  OptionValues read(const std::vector<std::string>& words, const char* const* environment,
                    const std::set<std::string>& left_out = {}) const;

  // One line that names variables EAVE_… that are neither options nor known to belong to other software; "" if there
  // are none.
  std::string warn_of_variables(const char* const* environment) const;

  std::string help() const;

  // The groups that help() prints, for callers that write another format.
  struct Group {
    std::string title;
    std::vector<OptionSpec> options;                           // the first option of a family is its selector
    std::vector<std::pair<std::string, std::string>> members;  // name, summary
  };
  const std::string& usage() const { return usage_; }
  const std::vector<Group>& groups() const { return groups_; }
  static std::string value_hint(const OptionSpec& option);  // "N", "PATH", "on|off"
  // The help line of an option, with its defaults and, if not all members have the option, the members that do.
  std::string explain(const OptionSpec& option) const;
  std::string default_hint(const OptionSpec& option) const;  // "10; 500 with diloco"
  // The members of the option's family that have it, "easgd, gossip"; "" if all have it, or if it belongs to no family.
  std::string owners_of(const OptionSpec& option) const;
  // The members of other families with which the option has no effect, "--communicator none, asgd"; "" if there are
  // none.
  std::string disablers_of(const OptionSpec& option) const;

  // Writes every value in force, and where it came from, as a configuration file. Defaults are written as comments,
  // because some of them, given in a file, would be refused for having no effect. Throws Error(kUsage) if a file cannot
  // hold a value.
  std::string describe(const OptionValues& values) const;
  // The names of the options in force. Options of members that are not chosen are left out.
  std::vector<std::string> effective(const OptionValues& values) const;
  // The options in force that have a value, and plugin-file.
  std::map<std::string, std::string> config_in_force(const OptionValues& values) const;

 private:
  struct Owner {
    std::string selector;
    std::size_t members_of_selector = 0;
    std::map<std::string, std::string> defaults;  // default by member
  };
  static std::string members_of(const Owner& owner);
  void set_defaults_of_chosen_members(OptionValues& values) const;
  void refuse_options_without_effect(const OptionValues& values) const;
  bool has_effect(const OptionValues& values, const std::string& name) const;
  // The chosen member with which the option `name` has no effect, and that member's selector; nullptr if there is none.
  struct Disabler {
    std::string selector, member;
  };
  const Disabler* disabler_of(const OptionValues& values, const std::string& name) const;
  std::string options_of(const Disabler& disabler) const;

  std::string usage_;
  std::vector<Group> groups_;
  std::map<std::string, Owner> owners_;
  std::map<std::string, std::string (*)(const OptionValues&)> derived_;
  std::map<std::string, std::string (*)(const std::string&)> expanded_;
  std::map<std::string, std::vector<Disabler>> disablers_;  // by name of option
};

// The members of a family, one for each kind. Kinds of methods have options, others a name and a summary only.
template <typename Kind>
std::vector<CommandLine::Member> members_from(const std::vector<Kind>& kinds) {
  std::vector<CommandLine::Member> result;
  for (const Kind& kind : kinds) {
    result.push_back({kind.name, kind.summary, {}});
    if constexpr (requires { kind.options; }) result.back().options = kind.options;
  }
  return result;
}

// A text option with a few values, of which it takes one.
inline OptionSpec choice(const std::string& name, const std::vector<std::string>& choices,
                         const std::string& default_text, const std::string& help) {
  return {name, OptionType::kText, default_text, help, choices};
}

// How the values of a type are written. Help and documents both use this table.
struct ValueForm {
  OptionType type;
  const char* hint;  // as value_hint() returns it
  const char* text;
};
std::span<const ValueForm> value_forms();

struct PathsAndValues {
  std::vector<std::filesystem::path> paths;
  OptionValues values;
};

// Reads a command line of paths and options in any order. Every option has a value. `what` names a path, such as
// RUN_DIR. Throws Error(kUsage): `missing`, if there is no path, and as path_of_word and CommandLine::parse.
PathsAndValues read_paths(const CommandLine& line, const std::vector<std::string>& words, const std::string& what,
                          const std::string& missing);

// The same for one path; options may be flags.
PathsAndValues read_first_path(const CommandLine& line, const std::vector<std::string>& words, const std::string& what,
                               const std::string& missing);

}  // namespace eave
