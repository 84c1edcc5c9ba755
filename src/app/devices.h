// Which device each rank computes on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "device/plan_file.h"
#include "eave/compute.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// What a rank finds on its host.
struct VisibleGpus {
  std::string host;
  std::vector<std::string> ids;  // of each GPU that the process sees, in its order; the same GPU has one id everywhere
  std::string why_none;          // a sentence
  // By number: why eave cannot compute on a GPU that it sees. Ranks pass such GPUs over.
  std::map<std::size_t, std::string> unfit = {};
  std::string visible = {};  // CUDA_VISIBLE_DEVICES
};

// Looks for GPUs unless --device cpu.
VisibleGpus find_gpus(const OptionValues& values, const std::string& host);
std::string pack(const VisibleGpus& gpus);
VisibleGpus unpack_gpus(const std::string& text);

struct DevicePlan {
  bool is_cuda = false;
  int gpu = 0;              // as the rank sees it
  bool is_own = true;       // no rank shares a GPU with another, on any host
  std::string why_not_gpu;  // --device auto has chosen the CPU: why
};

// What the ranks of a job compute on, all on GPUs or none: the same answer on every rank. A rank takes the first GPU it
// sees that no lower rank of its host has taken. Throws Error: kResource where --device cuda finds no GPU somewhere,
// or --gpu names one that does not fit, kUsage where ranks would share one without --share-gpu, or where an option has
// no effect.
std::vector<DevicePlan> plan_devices(const OptionValues& values, const std::vector<VisibleGpus>& ranks);

// Collective: this rank's part of plan_devices. Throws AgreedError.
DevicePlan choose_device(Transport& transport, const OptionValues& values);

std::unique_ptr<Device> open_gpu(const DevicePlan& plan);  // nullptr: the CPU

// --autotune: the plans that earlier runs found to be the fastest, and how this run's were chosen.
struct Tuning {
  explicit Tuning(std::filesystem::path folder) : file(std::move(folder)) {}
  PlanFile file;
  TuningCounts counts;
};
// "plans: 61 of earlier runs, 4 timed in 1.2 s".
std::string describe_tuning(const Tuning& tuning);

// Declaration order: the compute goes first.
struct OpenDevice {
  std::unique_ptr<Tuning> tuning;  // nullptr: --autotune off
  std::unique_ptr<Device> gpu;     // nullptr: the CPU
  std::unique_ptr<Compute> compute;
  std::string precision;  // "" on the CPU
};
OpenDevice open_device(const DevicePlan& plan, const OptionValues& values);

std::vector<OptionSpec> placement_options();  // which device: all that a command without layers needs
std::vector<OptionSpec> device_options();

}  // namespace eave
