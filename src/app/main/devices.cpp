#include "app/main/devices.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <sstream>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "device/cuda_module.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

bool is_given(const OptionValues& values, const char* name) {  // bench-comm declares few of these options
  return values.entries().contains(name) && values.given(name);
}

// Refuses options that only concern GPUs.
void refuse_gpu_options(const OptionValues& values, const std::string& why) {
  for (const char* name : {"gpu", "share-gpu", "precision", "deterministic", "autotune"}) {
    if (is_given(values, name)) refuse_option(values, name, "has no effect on the CPU" + why);
  }
}

std::vector<DevicePlan> plan_cpu(const OptionValues& values, std::size_t ranks, const std::string& why) {
  refuse_gpu_options(values, why.empty() ? "" : ", which --device auto has chosen: " + why);
  DevicePlan plan;
  plan.why_not_gpu = why;
  return std::vector<DevicePlan>(ranks, plan);
}

// The number of ranks that have taken a GPU, by host and id.
using Taken = std::map<std::pair<std::string, std::string>, int>;

// "2 GPUs", and the variable that selected them, if it is set. A wrong word in that variable ends CUDA's list.
std::string count_gpus(const VisibleGpus& rank) {
  return count_text(std::ssize(rank.ids), "GPU") +
         (rank.visible.empty() ? "" : " (its CUDA_VISIBLE_DEVICES is '" + rank.visible + "')");
}

// The first of the usable GPUs with the fewest users.
std::size_t find_free_gpu(const VisibleGpus& rank, const std::function<int&(std::size_t)>& users) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < rank.ids.size(); ++i) {
    if (rank.unfit.contains(i)) continue;
    if (rank.unfit.contains(best) || users(i) < users(best)) best = i;
  }
  return best;
}

int take_gpu(const OptionValues& values, const VisibleGpus& rank, std::size_t number, Taken& taken) {
  const auto users = [&](std::size_t i) -> int& { return taken[{rank.host, rank.ids[i]}]; };
  std::size_t best = 0;
  if (values.has("gpu")) {
    best = static_cast<std::size_t>(values.integer("gpu", 0, 1 << 20));
    if (best >= rank.ids.size()) {
      refuse_option(
          values, "gpu",
          "rank " + std::to_string(number) + " on " + rank.host + " sees " + count_gpus(rank) + ", counted from 0");
    }
  } else {
    best = find_free_gpu(rank, users);
  }
  if (const auto unfit = rank.unfit.find(best); unfit != rank.unfit.end()) {
    throw Error(ExitCode::kResource, "rank " + std::to_string(number) + " on " + rank.host + ": " + unfit->second +
                                         "; give another --gpu, or --device cpu");
  }
  if (users(best) > 0 && !values.flag("share-gpu")) {
    throw Error(ExitCode::kUsage, "no GPU is left for rank " + std::to_string(number) + " on " + rank.host +
                                      ", which sees " + count_gpus(rank) +
                                      (values.has("gpu") ? "; --gpu " + values.text("gpu") + " is taken" : "") +
                                      "; start one rank for each GPU, or give --share-gpu or --device cpu");
  }
  ++users(best);
  return static_cast<int>(best);
}

std::vector<DevicePlan> plan_gpus(const OptionValues& values, const std::vector<VisibleGpus>& ranks) {
  if (is_given(values, "threads")) refuse_option(values, "threads", "has no effect on a GPU");
  Taken taken;
  std::vector<DevicePlan> plans;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    DevicePlan plan;
    plan.is_cuda = true;
    plan.gpu = take_gpu(values, ranks[rank], rank, taken);
    plans.push_back(plan);
  }
  const auto is_on = [&](const char* name) { return values.entries().contains(name) && values.flag(name); };
  if (is_on("autotune") && is_on("deterministic")) {
    refuse_option(values, "autotune",
                  "contradicts --deterministic: which algorithm is the fastest, and so the last bits, "
                  "differs from run to run; give one");
  }
  const bool shared = std::ranges::any_of(taken, [](const auto& gpu) { return gpu.second > 1; });
  if (values.given("share-gpu") && values.flag("share-gpu") && !shared) {
    refuse_option(values, "share-gpu", "has no effect: every rank has a GPU of its own");
  }
  for (DevicePlan& plan : plans) plan.is_own = !shared;
  return plans;
}

Precision precision_of(const std::string& word) {
  if (word == "fp32") return Precision::kFp32;
  return word == "bf16" ? Precision::kBf16 : Precision::kTf32;
}

// Records the GPUs found. If none can be used, they are treated as absent.
void take_in(const std::vector<FoundGpu>& gpus, VisibleGpus& found) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].unfit.empty()) found.unfit[i] = gpus[i].unfit;
  }
  if (found.unfit.size() == gpus.size()) {
    found.why_none = "no GPU can be used: " + gpus.front().unfit + "; train with --device cpu";
    found.unfit.clear();
    return;
  }
  for (const FoundGpu& gpu : gpus) found.ids.push_back(gpu.id);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) found.visible = printable(visible);
}

}  // namespace

VisibleGpus find_gpus(const OptionValues& values, const std::string& host) {
  VisibleGpus found{host, {}, ""};
  if (values.text("device") == "cpu") return found;
  try {
    const std::vector<FoundGpu> gpus = open_cuda_module().list_devices();
    open_cuda_module().check_libraries();
    take_in(gpus, found);
  } catch (const Error& error) {
    found.why_none = message_of(error);
  }
  return found;
}

std::string pack(const VisibleGpus& gpus) {
  std::string text = gpus.host + "\n" + gpus.why_none + "\n" + gpus.visible + "\n";
  for (std::size_t i = 0; i < gpus.ids.size(); ++i) {
    const auto unfit = gpus.unfit.find(i);
    text += gpus.ids[i] + "\n" + (unfit == gpus.unfit.end() ? "" : unfit->second) + "\n";
  }
  return text;
}

VisibleGpus unpack_gpus(const std::string& text) {
  std::istringstream lines(text);
  VisibleGpus gpus;
  std::getline(lines, gpus.host);
  std::getline(lines, gpus.why_none);
  std::getline(lines, gpus.visible);
  for (std::string id, unfit; std::getline(lines, id) && std::getline(lines, unfit);) {
    if (!unfit.empty()) gpus.unfit[gpus.ids.size()] = unfit;
    gpus.ids.push_back(id);
  }
  return gpus;
}

std::vector<DevicePlan> plan_devices(const OptionValues& values, const std::vector<VisibleGpus>& ranks) {
  if (values.text("device") == "cpu") return plan_cpu(values, ranks.size(), "");
  const auto without = std::ranges::find_if(ranks, [](const VisibleGpus& rank) { return rank.ids.empty(); });
  if (without == ranks.end()) return plan_gpus(values, ranks);
  const bool all = std::ranges::all_of(ranks, [](const VisibleGpus& rank) { return rank.ids.empty(); });
  if (values.text("device") == "auto" && all && !has_cuda_module()) return plan_cpu(values, ranks.size(), "");
  const std::string where =
      all ? "" : "on rank " + std::to_string(without - ranks.begin()) + ", " + without->host + ": ";
  if (values.text("device") == "cuda") throw Error(ExitCode::kResource, where + without->why_none);
  return plan_cpu(values, ranks.size(), where + without->why_none);
}

namespace {

// The GPUs of all ranks. If no rank has any, no more is exchanged, and all ranks are taken to be like this one.
std::vector<VisibleGpus> find_gpus_of_ranks(Transport& transport, const VisibleGpus& mine) {
  const std::vector<std::string> words = transport.gather(mine.ids.empty() ? "" : "has some");
  const bool some_have = std::ranges::any_of(words, [](const std::string& word) { return !word.empty(); });
  if (transport.broadcast_text(some_have ? "some" : "").empty())
    return std::vector<VisibleGpus>(static_cast<std::size_t>(transport.size()), mine);
  std::vector<VisibleGpus> ranks;
  for (const std::string& text : transport.all_gather(pack(mine))) ranks.push_back(unpack_gpus(text));
  return ranks;
}

}  // namespace

DevicePlan choose_device(Transport& transport, const OptionValues& values) {
  const std::vector<VisibleGpus> ranks = find_gpus_of_ranks(transport, find_gpus(values, host_name()));
  DevicePlan plan;
  agree(transport, [&] { plan = plan_devices(values, ranks)[static_cast<std::size_t>(transport.rank())]; });
  return plan;
}

std::unique_ptr<Device> open_gpu(const DevicePlan& plan) {
  return plan.is_cuda ? open_cuda_module().open_device(plan.gpu) : nullptr;
}

OpenDevice open_device(const DevicePlan& plan, const OptionValues& values) {
  if (!plan.is_cuda)
    return {nullptr, nullptr, make_cpu_compute(static_cast<int>(values.integer("threads", 1, 1024))), ""};
  OpenDevice opened{nullptr, open_gpu(plan), nullptr, values.text("precision")};
  CudaSettings settings{precision_of(opened.precision), values.flag("deterministic"), values.flag("autotune")};
  if (settings.autotune) {
    // Timings on a shared GPU are not reliable, so they are used for this run only.
    opened.tuning = std::make_unique<Tuning>(plan.is_own ? plan_folder() : std::filesystem::path());
    settings.choices = &opened.tuning->file;
    settings.counts = &opened.tuning->counts;
  }
  opened.compute = open_cuda_module().make_compute(*opened.gpu, settings);
  return opened;
}

std::string describe_tuning(const Tuning& tuning) {
  const TuningCounts& counts = tuning.counts;
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << "plans: " << counts.from_choices << " of earlier runs, " << counts.timed
       << " timed in " << counts.seconds << " s";
  if (counts.cut_short > 0) text << " (" << counts.cut_short << " not to the end: the time was over)";
  if (!tuning.file.why_not_saved().empty()) text << "; not kept: " << tuning.file.why_not_saved();
  return text.str();
}

std::vector<OptionSpec> placement_options() {
  return {
      choice("device", {"auto", "cpu", "cuda"}, "auto",
             "device that ranks compute on; auto: GPUs if every rank sees one, else the CPU"),
      {"gpu", OptionType::kInteger, "", "cuda: number of the GPU that each rank takes (default: the first free one)"},
      {"share-gpu", OptionType::kFlag, "off", "cuda: allow several ranks on one GPU"}};
}

std::vector<OptionSpec> device_options() {
  std::vector<OptionSpec> options = placement_options();
  options.push_back({"threads", OptionType::kInteger, "1", "cpu: number of threads per rank for computing"});
  options.push_back(
      choice("precision", {"fp32", "tf32", "bf16"}, "tf32",
             "cuda: precision of products, with bf16 also of activations; parameters are always float32"));
  options.push_back(
      {"deterministic", OptionType::kFlag, "off", "cuda: use only algorithms that give the same bits each time"});
  options.push_back({"autotune", OptionType::kFlag, "off",
                     "cuda: time candidate algorithms for each layer at start, 10 s at most, and keep the choices in "
                     "$XDG_CACHE_HOME/eave/plans or ~/.cache/eave/plans"});
  return options;
}

}  // namespace eave
