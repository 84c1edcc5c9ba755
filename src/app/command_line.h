// Options from their four places, in rising order: default, file (--config), environment (EAVE_*), command line.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eave/options.h"

namespace eave {

// The options of one subcommand, in groups. Members of a family (communicators, datasets …) bring their own options,
// which mean something only while that member is chosen.
class CommandLine {
 public:
  // `usage` is the first line of --help.
  explicit CommandLine(std::string usage) : usage_(std::move(usage)) {}

  void add_group(const std::string& title, const std::vector<OptionSpec>& options);

  // Declares `--<selector>` with its members as choices (after those it already has), and each member's options.
  // Members that share an option agree in all but its default, which is that of the chosen member.
  struct Member {
    std::string name;
    std::string summary;
    std::vector<OptionSpec> options;
    std::vector<std::string> disables = {};  // options of others, selectors too, that have no effect with this member
  };
  void add_family(const std::string& title, const OptionSpec& selector, const std::vector<Member>& members);

  // Reads all places. Throws Error(kUsage): unknown names (with the likely one), wrong values, options that have no
  // effect with the chosen member of their family. `environment` is main's, null-terminated; nullptr where EAVE_*,
  // which are settings of a training, mean nothing.
  OptionValues parse(const std::vector<std::string>& words, const char* const* environment = nullptr) const;

  // One line that names variables EAVE_… which are neither options nor known to be somebody else's; "": there are none.
  std::string warn_of_variables(const char* const* environment) const;

  std::string help() const;

  // What help() is made of, for those who write it in another form.
  struct Group {
    std::string title;
    std::vector<OptionSpec> options;                           // the first of a family is its selector
    std::vector<std::pair<std::string, std::string>> members;  // name, summary
  };
  const std::string& usage() const { return usage_; }
  const std::vector<Group>& groups() const { return groups_; }
  static std::string value_hint(const OptionSpec& option);  // "N", "PATH", "on|off"
  // The line of help, with defaults and with the members that have the option, where not all do.
  std::string explain(const OptionSpec& option) const;
  std::string default_hint(const OptionSpec& option) const;  // "10; 500 with diloco"
  // The members of its family that have it, "easgd, gossip"; "" where all do, or where it is of no family.
  std::string owners_of(const OptionSpec& option) const;
  // With what of other families it has no effect, "--communicator none, asgd"; "" where there is nothing.
  std::string disablers_of(const OptionSpec& option) const;

  // Every value that is in force and where it came from, as a configuration file in which defaults are comments: given
  // by a file, some would be refused for having no effect. Throws Error(kUsage) for a value that no file can hold.
  std::string describe(const OptionValues& values) const;
  // The options in force: those of members that are not chosen are left out.
  std::vector<std::string> effective(const OptionValues& values) const;
  std::map<std::string, std::string> config_in_force(
      const OptionValues& values) const;  // those with a value, and plugin-file

 private:
  struct Owner {
    std::string selector;
    std::size_t members_of_selector = 0;
    std::map<std::string, std::string> defaults;  // by member
  };
  static std::string members_of(const Owner& owner);
  void set_defaults_of_chosen_members(OptionValues& values) const;
  void refuse_options_without_effect(const OptionValues& values) const;
  bool has_effect(const OptionValues& values, const std::string& name) const;
  // The chosen member with which it has none, and that member's selector; nullptr where there is none.
  struct Disabler {
    std::string selector, member;
  };
  const Disabler* disabler_of(const OptionValues& values, const std::string& name) const;
  std::string options_of(const Disabler& disabler) const;

  std::string usage_;
  std::vector<Group> groups_;
  std::map<std::string, Owner> owners_;
  std::map<std::string, std::vector<Disabler>> disablers_;  // by option
};

// How the values of a type are written: one place for help and for the documents.
struct ValueForm {
  OptionType type;
  const char* hint;  // as value_hint() has it
  const char* text;
};
std::span<const ValueForm> value_forms();

// The words of a command line whose options all have a value: options with those, and all others, which are names of
// files or directories.
struct WordsApart {
  std::vector<std::string> options;
  std::vector<std::string> names;
};
WordsApart part_names(const std::vector<std::string>& words);

}  // namespace eave
