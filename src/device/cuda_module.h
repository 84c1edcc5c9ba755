// The backend for GPUs, a library of its own that is opened when it is asked for: the program starts without it, and a
// rank on the CPU does not carry what it needs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eave/compute.h"
#include "eave/device.h"

namespace eave {

// The type of activations, and how matrix products are computed. Parameters and their gradients are float32 with each.
enum class Precision {
  kFp32,  // float32 throughout, no tensor cores
  kTf32,  // float32, products of tensor cores with 10 bits of mantissa
  kBf16,  // activations and their gradients bfloat16, products with float32 sums
};

// Which plan was found to be the fastest for an operation, kept from run to run. All texts are of one line, without
// tabs. What is found here is only a hint: the module checks that it names one of the plans that it would have timed.
class PlanChoices {
 public:
  virtual ~PlanChoices() = default;
  // Called once, first: all that holds for every operation of this device, such as its properties and versions.
  virtual void open(const std::string& environment) = 0;
  virtual std::string find(const std::string& operation) = 0;  // "": nothing is known
  virtual void keep(const std::string& operation, const std::string& choice) = 0;
};

// How plans were chosen so far.
struct TuningCounts {
  int from_choices = 0;  // operations whose plan PlanChoices knew
  int timed = 0;         // operations whose candidates were timed
  int cut_short = 0;     // of these, the ones that the time did not suffice for: the best of some candidates was taken
  double seconds = 0;    // that looking for candidates and timing them took
};

struct CudaSettings {
  Precision precision = Precision::kTf32;
  bool deterministic = false;      // only algorithms that give the same bits each time
  bool autotune = false;           // time the candidates once, when a layer is planned
  PlanChoices* choices = nullptr;  // with autotune; outlives the compute. nullptr: nothing is kept
  TuningCounts* counts = nullptr;  // is added to; outlives the compute
};

struct FoundGpu {
  std::string id;     // the same for the same GPU in every process
  std::string unfit;  // why eave cannot compute on it; "" if it can
};

// What the module offers. All throw Error.
struct CudaModule {
  int version = 0;  // kCudaModuleVersion of the program that it was built with
  // Each GPU this process sees, at least one. kResource: no driver, too old a driver, no GPU.
  std::vector<FoundGpu> (*list_devices)() = nullptr;
  // kResource if a library that layers need is of a version that eave was not built for.
  void (*check_libraries)() = nullptr;
  // Makes the GPU the calling thread's. kResource where it cannot be had.
  std::unique_ptr<Device> (*open_device)(int index) = nullptr;
  // `device` is one that open_device gave; it outlives the compute.
  std::unique_ptr<Compute> (*make_compute)(Device& device, const CudaSettings& settings) = nullptr;
};

inline constexpr int kCudaModuleVersion = 3;

// The name of the one thing that the module shows: a function without arguments that returns a const CudaModule*.
inline constexpr const char* kCudaModuleEntry = "eave_cuda_module";

// Whether there is a module to open: a program that was built without one has nothing to say about GPUs.
bool has_cuda_module();

// Opens the module: the file that LIBEAVE_CUDA names, or libeave_cuda.so beside the program or in ../lib. It stays
// open. Throws Error(kResource) that says why it cannot be.
const CudaModule& open_cuda_module();

}  // namespace eave
