// Implements the notes on other differences of report/compare/comparison.h.
#include <map>
#include <set>
#include <vector>

#include "report/compare/comparison.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

// A value, and the names of the methods that have it.
using MethodsOfValue = std::map<std::string, std::set<std::string>>;

// Settings that end a run, which the verdict compares by what the runs did.
const std::set<std::string> kOfLength = {"epochs",           "max-samples",     "max-steps",        "max-tokens",
                                         "stop-after-bytes", "stop-after-time", "stop-at-accuracy", "stop-at-loss"};

std::string listed_set(const std::set<std::string>& names) { return listed({names.begin(), names.end()}); }

// "0.5 (allreduce, local-sgd tau=10), 0.9 (easgd tau=10)"
std::string values_text(const MethodsOfValue& values) {
  std::vector<std::string> texts;
  for (const auto& [value, methods] : values) texts.push_back(value + " (" + listed_set(methods) + ")");
  return listed(texts);
}

bool is_in_name(const Variant& variant, const std::string& setting) {
  return variant.method.find(" " + setting + "=") != std::string::npos;
}

// The values of a setting in a cell. Nothing if a method does not have the setting, or all of their names tell it.
MethodsOfValue values_in(const Comparison& comparison, const MethodCell& cell, const std::string& setting) {
  MethodsOfValue values;
  bool is_told = true;
  for (const std::size_t index : cell.variants) {
    const Variant& variant = comparison.variants[index];
    const auto found = variant.settings.find(setting);
    if (found == variant.settings.end()) return {};
    is_told = is_told && is_in_name(variant, setting);
    values[found->second].insert(variant.method);
  }
  return is_told ? MethodsOfValue{} : values;
}

// The settings of training that differ within a cell, besides what names the methods.
std::map<std::string, MethodsOfValue> differing_settings_of(const Comparison& comparison) {
  std::map<std::string, MethodsOfValue> differing;
  for (const MethodCell& cell : comparison.cells) {
    for (const std::string& name : comparison.differing) {
      if (!is_of_training(name) || kOfLength.contains(name)) continue;
      const MethodsOfValue values = values_in(comparison, cell, name);
      if (values.size() < 2) continue;
      for (const auto& [value, methods] : values) differing[name][value].insert(methods.begin(), methods.end());
    }
  }
  return differing;
}

std::set<std::string> hosts_of(const Comparison& comparison, const Variant& variant) {
  std::set<std::string> hosts;
  for (const std::size_t run : variant.finished)
    hosts.insert(comparison.runs[run].hosts.begin(), comparison.runs[run].hosts.end());
  return hosts;
}

}  // namespace

std::string on_other_settings(const Comparison& comparison) {
  std::string text;
  for (const auto& [name, values] : differing_settings_of(comparison))
    text += (text.empty() ? "" : "; ") + name + " " + values_text(values);
  return text.empty() ? "" : "Methods differ in other settings too, which may explain the result: " + text + ".";
}

std::string on_versions(const Comparison& comparison) {
  MethodsOfValue versions;
  for (const Variant& variant : comparison.variants) {
    for (const std::size_t index : variant.runs) {
      const std::string& version = comparison.runs[index].version;
      if (!version.empty()) versions[version].insert(variant.label);
    }
  }
  if (versions.size() < 2) return "";
  return "Runs are by different versions of eave, so their results and times may differ for that reason: " +
         values_text(versions) + ".";
}

std::string on_hosts(const Comparison& comparison) {
  MethodsOfValue differing;
  for (const MethodCell& cell : comparison.cells) {
    std::map<std::set<std::string>, std::set<std::string>> methods;  // by hosts
    for (const std::size_t index : cell.variants) {
      const Variant& variant = comparison.variants[index];
      const std::set<std::string> mine = hosts_of(comparison, variant);
      if (!mine.empty()) methods[mine].insert(variant.label);
    }
    if (methods.size() < 2) continue;
    for (const auto& [hosts, labels] : methods) differing[listed_set(hosts)].insert(labels.begin(), labels.end());
  }
  if (differing.empty()) return "";
  return "Methods ran on different hosts, so their times compare only if these are alike: " + values_text(differing) +
         ".";
}

}  // namespace eave
