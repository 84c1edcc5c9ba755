// The GPU backend: a shared library that the program opens only if a GPU is asked for. So the program starts on
// machines without CUDA, and a rank on the CPU does not load CUDA's libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eave/compute.h"
#include "eave/device.h"

namespace eave {

// The type of activations and the arithmetic of matrix products. Parameters and their gradients are always float32.
enum class Precision {
  kFp32,  // float32 everywhere; no tensor cores
  kTf32,  // float32; tensor cores multiply with 10 bits of mantissa
  kBf16,  // activations and their gradients are bfloat16; products are summed in float32
};

// Remembers the fastest plan of each operation from run to run. Every string is one line without tabs. A stored choice
// is only a hint: the module checks that it names one of the plans that it would have timed.
class PlanChoices {
 public:
  virtual ~PlanChoices() = default;
  // Called once, before the other functions. `environment` describes everything that holds for all operations of this
  // device, such as its properties and library versions.
  virtual void open(const std::string& environment) = 0;
  virtual std::string find(const std::string& operation) = 0;  // "" if no choice is known
  virtual void keep(const std::string& operation, const std::string& choice) = 0;
};

// Counts how plans were chosen so far.
struct TuningCounts {
  int from_choices = 0;  // operations whose plan PlanChoices knew
  int timed = 0;         // operations whose plan was found by timing candidates
  int cut_short = 0;     // operations for which time ran out, so that only some candidates were compared
  double seconds = 0;    // spent on finding candidates and timing them
};

struct CudaSettings {
  Precision precision = Precision::kTf32;
  bool deterministic = false;      // allow only algorithms that give the same bits each time
  bool autotune = false;           // when a layer is planned, time the candidate plans once
  PlanChoices* choices = nullptr;  // used with autotune; outlives the compute; nullptr: no choice is kept
  TuningCounts* counts = nullptr;  // incremented by the compute, which it outlives; may be nullptr
  // Logits in memory at a time, if a model of tokens computes its loss together with its last layer.
  std::int64_t most_logits = std::int64_t{64} << 20;
};

struct FoundGpu {
  std::string id;     // identifies the GPU, the same in every process
  std::string unfit;  // why eave cannot compute on it, or ""
};

// The functions that the module offers. All of them throw Error.
struct CudaModule {
  int version = 0;  // kCudaModuleVersion when the module was built
  // Lists the GPUs that this process sees, at least one. Throws kResource if there is no driver, too old a driver or no
  // GPU.
  std::vector<FoundGpu> (*list_devices)() = nullptr;
  // Throws kResource if eave was not built for the version of a library that layers need.
  void (*check_libraries)() = nullptr;
  // Opens GPU `index` and makes it the calling thread's current device. Throws kResource if that fails.
  std::unique_ptr<Device> (*open_device)(int index) = nullptr;
  // `device` must come from open_device, and must outlive the returned Compute.
  std::unique_ptr<Compute> (*make_compute)(Device& device, const CudaSettings& settings) = nullptr;
};

inline constexpr int kCudaModuleVersion = 5;

// The only symbol that the module exports: a function without arguments that returns a const CudaModule*.
inline constexpr const char* kCudaModuleEntry = "eave_cuda_module";

// Checks the NVIDIA driver before the module is loaded, and without CUDA headers. libcuda.so.1 is a small library, the
// module loads 200 MB of libraries. Throws Error(kResource) unless a driver is installed that starts, shows at least
// one GPU and can run programs built with CUDA `toolkit` (12040 means 12.4).
void require_cuda_driver(int toolkit);

// Whether a module file exists. A program that was built without GPUs has none, and then says nothing about GPUs.
bool has_cuda_module();

// Opens the module on the first call and keeps it open. The module is the file that LIBEAVE_CUDA names; without that
// variable it is libeave_cuda.so beside the program, in ../lib, or beside libeave.so. Throws Error(kResource) with the
// reason if it cannot be opened.
const CudaModule& open_cuda_module();

}  // namespace eave
