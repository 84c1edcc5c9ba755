#include "app/compare/compare_inputs.h"

#include "app/resume/model_file.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

// The options, with their values, on which the identity of the data depends.
std::string options_of_data(const OptionValues& values) {
  std::vector<std::string> names = {"data", "validation-share"};
  for (const OptionSpec& option : find_kind(dataset_kinds(), values.text("data")).options) names.push_back(option.name);
  std::string text;
  for (const std::string& name : names) {
    if (values.entries().contains(name)) text += name + "=" + values.text(name) + "\n";
  }
  return text;
}

// Only then the data depends on a check of all images, which may take minutes.
bool leaves_out_images(const OptionValues& values) {
  return values.entries().contains("on-bad-image") && values.text("on-bad-image") == "skip";
}

[[noreturn]] void refuse(const RunRecord& kept, const std::string& difference, const std::string& what) {
  throw Error(ExitCode::kConfiguration, "--output: the run in " + kept.name + " began from other " + difference +
                                            "; give the " + what +
                                            " that the comparison began with, or choose another directory for this "
                                            "comparison");
}

}  // namespace

void ComparedInputs::require_same(Transport& job, const std::vector<std::string>& hosts, const OptionValues& values,
                                  const RunRecord* kept, const std::function<void()>& moved) {
  if (leaves_out_images(values)) checked = check_samples(job, hosts, values, checked, moved);
  agree(job, [&] {
    if (kept == nullptr) return;
    require_same_data(values, *kept);
    require_same_initial(values, *kept);
  });
}

void ComparedInputs::require_same_data(const OptionValues& values, const RunRecord& kept) {
  const auto [found, is_new] = data_.try_emplace(options_of_data(values));
  if (is_new) {
    const DataSplit data = open_data_of_run(values, leaves_out_images(values) ? checked : CheckedSamples());
    found->second = {data.identity, data.differences};
  }
  if (kept.data_identity != found->second.identity) refuse(kept, "data: " + found->second.differences, "data");
}

void ComparedInputs::require_same_initial(const OptionValues& values, const RunRecord& kept) {
  if (kept.initial_identity.empty() || !values.has("initial-parameters")) return;
  const std::string& path = values.text("initial-parameters");
  const auto [found, is_new] = initial_.try_emplace(path);
  if (is_new) found->second = identity_of_model(read_model_of(path));
  if (kept.initial_identity != found->second)
    refuse(kept, "parameters: the content of --initial-parameters " + path + " has changed", "file");
}

}  // namespace eave
