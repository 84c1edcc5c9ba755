#include "report/compare/variants.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/options/number_text.h"
#include "report/record/config.h"

namespace eave {
namespace {

using Settings = std::map<std::string, std::string>;

// Options that only name, place or watch a run.
const std::set<std::string> kOfNoEffect = {"allow-changed-plugin",
                                           "allow-unstable",
                                           "checkpoint",
                                           "checkpoint-dir",
                                           "checkpoint-every",
                                           "config",
                                           "evaluations",
                                           "keep",
                                           "keep-every",
                                           "require-checkpoint",
                                           "data-dir",
                                           "evaluate-every",
                                           "evaluate-workers",
                                           "evaluation-batch",
                                           "log-every",
                                           "overwrite",
                                           "plugin",
                                           "print-config",
                                           "progress",
                                           "replay",
                                           "resume",
                                           "run-dir",
                                           "seed",
                                           "stage-to",
                                           "tensorboard",
                                           "trace"};

constexpr const char *kDataIdentity = "data-identity", *kInitialIdentity = "initial-identity";

// Options that say where a run ran and on what, not how ranks are averaged.
const std::set<std::string> kOfPlace = {
    "augment",      "context",      "text-test-share", "vocabulary",       "vocabulary-size",
    "crop",         "data",         kDataIdentity,     "decode-threads",   "device",
    "flip",         "image-cache",  "image-size",      "image-test-share", "gpu",
    "model",        "pad",          "precision",       "sampling",         "shape-compute",
    "shape-delay",  "shape-jitter", "shape-rate",      "share-gpu",        "slow-rank",
    "test-samples", "threads",      "train-samples",   "transport"};

// Settings from which a run's data follows, unless the files have changed.
const std::set<std::string> kOfData = {
    "context",         "data",          "image-size",       "image-test-share", "test-samples",
    "text-test-share", "train-samples", "validation-share", "vocabulary",       "vocabulary-size"};

// Options that every method has and that have no default: a run does not record them unless they are given.
const std::set<std::string> kWithoutDefault = {"inject-fault", "initial-parameters", "label-smoothing",
                                               "lr-step-epochs", "warmup"};

const std::set<std::string> kOfSeveralRanks = {"shape-delay", "shape-jitter", "shape-rate", "slow-rank", "transport"};

bool is_of_place(const std::string& name) { return kOfPlace.contains(name) || name.starts_with("synthetic-"); }
bool is_of_data(const std::string& name) { return kOfData.contains(name) || name.starts_with("synthetic-"); }
bool is_of_start(const std::string& name) { return name == "initial-parameters"; }

// Whether the report's table has a column for this option.
bool has_column(const std::string& name) {
  return name == "communicator" || name == "ranks" || name == "batch" || name == "batch-means" || name == "lr";
}

// The run's settings, with the number of ranks, the device and the sizes of the data that it recorded.
Settings settings_of(const RunRecord& run) {
  Settings settings;
  for (const auto& [name, text] : run.settings) {
    if (!kOfNoEffect.contains(name)) settings[name] = text;
  }
  settings["ranks"] = std::to_string(run.ranks);
  if (!run.device.empty()) settings["device"] = run.device;
  settings["train-samples"] = std::to_string(run.train_samples);
  settings["test-samples"] = std::to_string(run.test_samples);
  return settings;
}

// If runs have recorded different identities, although the settings are the same from which it should follow, adds it
// to their settings under `name`.
void tell_apart(std::vector<Settings>& settings, const std::vector<RunRecord>& runs, const std::string& name,
                std::string RunRecord::*identity, bool (*is_of_it)(const std::string&)) {
  std::vector<Settings> causes = settings;
  std::map<Settings, std::set<std::string>> identities;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::erase_if(causes[i], [&](const auto& setting) { return !is_of_it(setting.first); });
    if (!(runs[i].*identity).empty()) identities[causes[i]].insert(runs[i].*identity);
  }
  constexpr std::size_t kDigits = 8;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string& mine = runs[i].*identity;
    if (identities[causes[i]].size() > 1) settings[i][name] = mine.empty() ? "not recorded" : mine.substr(0, kDigits);
  }
}

// If some runs were given such an option, it is a difference to the others. A setting that runs lack would be taken for
// an option of another method.
void add_options_not_given(std::vector<Settings>& settings) {
  for (const std::string& name : kWithoutDefault) {
    if (std::ranges::none_of(settings, [&](const Settings& each) { return each.contains(name); })) continue;
    for (Settings& each : settings) each.try_emplace(name, "none");
  }
}

std::vector<Settings> settings_of_all(const std::vector<RunRecord>& runs) {
  std::vector<Settings> settings;
  for (const RunRecord& run : runs) settings.push_back(settings_of(run));
  add_options_not_given(settings);
  tell_apart(settings, runs, kDataIdentity, &RunRecord::data_identity, is_of_data);
  tell_apart(settings, runs, kInitialIdentity, &RunRecord::initial_identity, is_of_start);
  return settings;
}

Variant begin_variant(const RunRecord& run, const Settings& settings) {
  Variant variant;
  variant.settings = settings;
  variant.ranks = run.ranks;
  variant.workers = run.workers;
  const double batch = number_in(settings, "batch");
  const double workers = std::max(run.workers, 1);
  const bool is_total = setting_in(settings, "batch-means") == "total";
  variant.batch_per_rank = is_total ? batch / workers : batch;
  variant.total_batch = is_total ? batch : batch * workers;
  variant.learning_rate = number_in(settings, "lr");
  return variant;
}

// A single rank uses no network, and no other rank is slower, so these options do not distinguish it unless it is
// slowed itself.
bool means_something(const Variant& variant, const std::string& name) {
  const bool is_slowed = name == "slow-rank" && variant.settings.contains(name);
  return variant.ranks > 1 || !kOfSeveralRanks.contains(name) || is_slowed;
}

bool differs(const std::vector<const Variant*>& variants, const std::string& name) {
  std::set<std::string> texts;
  for (const Variant* variant : variants) {
    if (!means_something(*variant, name)) continue;
    const bool has = variant->settings.contains(name);
    texts.insert(has ? "=" + setting_in(variant->settings, name) : "");
  }
  return texts.size() > 1;
}

// The options that differ between the variants that `belongs` accepts.
template <typename Predicate>
std::set<std::string> differing_of(const std::vector<Variant>& variants, const Predicate& belongs) {
  std::vector<const Variant*> members;
  std::set<std::string> names;
  for (const Variant& variant : variants) {
    if (!belongs(variant)) continue;
    members.push_back(&variant);
    for (const auto& [name, unused] : variant.settings) names.insert(name);
  }
  std::erase_if(names, [&](const std::string& name) { return !differs(members, name); });
  return names;
}

std::string assignments(const Settings& settings, const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (settings.contains(name)) text += (text.empty() ? "" : " ") + name + "=" + setting_in(settings, name);
  }
  return text;
}

std::set<std::string> differing_of_all(const std::vector<Variant>& variants) {
  return differing_of(variants, [](const Variant&) { return true; });
}

// A program's run and one of eave train have many options that the other one lacks. They say nothing of the method.
bool is_of_program(const Variant& variant) { return variant.settings.contains("program"); }

void name_method(Variant& variant, const std::vector<Variant>& variants) {
  const std::string communicator = setting_in(variant.settings, "communicator");
  std::set<std::string> names = differing_of(variants, [&](const Variant& other) {
    return setting_in(other.settings, "communicator") == communicator && is_of_program(other) == is_of_program(variant);
  });
  names.insert("tau");
  std::erase_if(names, [](const std::string& name) { return has_column(name) || is_of_place(name); });
  const std::string rest = assignments(variant.settings, names);
  variant.method = communicator + (rest.empty() ? "" : " " + rest);
}

// If some runs are of programs and some of eave train, an option that only the one kind has is left out, unless it
// differs within that kind. The name of the program stands for those options.
void name_place(Variant& variant, const std::vector<Variant>& variants, const std::set<std::string>& differ) {
  const auto is_of_other_kind = [&](const Variant& other) { return is_of_program(other) != is_of_program(variant); };
  std::set<std::string> names = differ;
  std::erase_if(names, [](const std::string& name) { return !is_of_place(name); });
  if (std::ranges::any_of(variants, is_of_other_kind)) {
    const auto is_alike = [&](const Variant& other) { return !is_of_other_kind(other); };
    const std::set<std::string> within = differing_of(variants, is_alike);
    std::erase_if(names, [&](const std::string& name) {
      const auto has_it = [&](const Variant& other) {
        return is_of_other_kind(other) && other.settings.contains(name);
      };
      return !within.contains(name) && std::ranges::none_of(variants, has_it);
    });
    names.insert("program");
  }
  variant.place = assignments(variant.settings, names);
}

void name_label(Variant& variant, const std::set<std::string>& differ) {
  variant.label = variant.method;
  if (differ.contains("ranks")) {
    variant.label += ", " + std::to_string(variant.ranks) + (variant.ranks == 1 ? " rank" : " ranks");
  }
  if (differ.contains("batch") || differ.contains("batch-means")) {
    variant.label += ", batch " + setting_in(variant.settings, "batch");
    if (setting_in(variant.settings, "batch-means") == "total") variant.label += " in all";
  }
  if (differ.contains("lr")) variant.label += ", lr " + setting_in(variant.settings, "lr");
  if (!variant.place.empty()) variant.label += ", " + variant.place;
}

}  // namespace

std::vector<Variant> group_runs(const std::vector<RunRecord>& runs) {
  const std::vector<Settings> settings = settings_of_all(runs);
  std::map<Settings, Variant> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Variant& variant = groups.try_emplace(settings[i], begin_variant(runs[i], settings[i])).first->second;
    variant.runs.push_back(i);
    if (runs[i].end == RunEnd::kFinished) variant.finished.push_back(i);
    if (runs[i].end == RunEnd::kDiverged || runs[i].end == RunEnd::kFailed) variant.lost.push_back(i);
  }
  std::vector<Variant> variants;
  for (auto& [unused, variant] : groups) variants.push_back(std::move(variant));
  const std::set<std::string> differ = differing_of_all(variants);
  for (Variant& variant : variants) {
    name_method(variant, variants);
    name_place(variant, variants, differ);
    name_label(variant, differ);
  }
  std::ranges::sort(variants, {}, [](const Variant& variant) {
    return std::tuple(variant.place, variant.ranks, variant.batch_per_rank, variant.method, variant.learning_rate);
  });
  return variants;
}

std::vector<std::string> machine_differences(const Variant& a, const Variant& b) {
  Settings settings = a.settings;
  settings.insert(b.settings.begin(), b.settings.end());
  std::vector<std::string> differing;
  for (const auto& [name, unused] : settings) {
    if (is_of_place(name) && means_something(a, name) && means_something(b, name) &&
        setting_in(a.settings, name) != setting_in(b.settings, name))
      differing.push_back(name);
  }
  return differing;
}

bool is_of_training(const std::string& name) { return !has_column(name) && !is_of_place(name); }

bool share_machine(const Variant& a, const Variant& b) { return machine_differences(a, b).empty(); }

std::vector<std::string> differing_settings(const std::vector<Variant>& variants) {
  const std::set<std::string> names = differing_of_all(variants);
  return {names.begin(), names.end()};
}

}  // namespace eave
