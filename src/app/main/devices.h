// Chooses and opens the device that each rank computes on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "device/plan_file.h"
#include "eave/compute.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// The GPUs that a rank finds on its host.
struct VisibleGpus {
  std::string host;
  // The id of each GPU that the process sees, in its order. A GPU has the same id for all ranks.
  std::vector<std::string> ids;
  std::string why_none;  // a sentence: why there is none
  // Why eave cannot compute on a visible GPU, by its number. Ranks skip such GPUs.
  std::map<std::size_t, std::string> unfit = {};
  std::string visible = {};  // the value of CUDA_VISIBLE_DEVICES
};

// Looks for GPUs, unless --device is cpu.
VisibleGpus find_gpus(const OptionValues& values, const std::string& host);
std::string pack(const VisibleGpus& gpus);
VisibleGpus unpack_gpus(const std::string& text);

struct DevicePlan {
  bool is_cuda = false;
  int gpu = 0;              // the number of the GPU as the rank sees it
  bool is_own = true;       // no rank shares a GPU with another, on any host
  std::string why_not_gpu;  // why --device auto chose the CPU
};

// Chooses the devices of all ranks: all compute on GPUs, or all on the CPU. The result is the same on every rank. Each
// rank takes, of the GPUs that it sees and can use, the first of those with the fewest ranks; with --share-gpu several
// ranks may take one.
// Throws Error:
// - kResource: with --device cuda a rank has no GPU, or --gpu names one that eave cannot use;
// - kUsage: ranks would share a GPU without --share-gpu, or an option has no effect.
std::vector<DevicePlan> plan_devices(const OptionValues& values, const std::vector<VisibleGpus>& ranks);

// Collective: returns this rank's entry of plan_devices. Throws AgreedError.
DevicePlan choose_device(Transport& transport, const OptionValues& values);

std::unique_ptr<Device> open_gpu(const DevicePlan& plan);  // nullptr: the CPU

// The state of --autotune: the plans that earlier runs found fastest, and how this run's plans were chosen.
struct Tuning {
  explicit Tuning(std::filesystem::path folder) : file(std::move(folder)) {}
  PlanFile file;
  TuningCounts counts;
};
// "plans: 61 of earlier runs, 4 timed in 1.2 s".
std::string describe_tuning(const Tuning& tuning);

// The order of declaration matters: the compute must be destroyed first.
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
