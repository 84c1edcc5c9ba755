#include "base/cuda_errors.h"

#include <cstdlib>
#include <fstream>

namespace eave {
namespace {

struct OldestDriver {
  int toolkit_major;
  const char* release;
};
// Source: NVIDIA's CUDA Compatibility, "Minor Version Compatibility", and the release notes of each toolkit.
constexpr OldestDriver kOldestDrivers[] = {{12, "525.60.13"}, {13, "580"}};

std::string oldest_driver(int toolkit) {
  for (const OldestDriver& each : kOldestDrivers)
    if (each.toolkit_major == toolkit / 1000) return "driver " + std::string(each.release);
  return "one of CUDA " + std::to_string(toolkit / 1000);
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_release(const std::filesystem::path& file) {
  std::string release;
  std::ifstream(file) >> release;
  return release;
}

std::string why_driver_is_too_old(int driver, int toolkit) {
  if (driver / 1000 >= toolkit / 1000) return "";
  const std::string release = driver_release();
  const bool runs_cuda_12 = driver / 1000 == 12;
  return "the NVIDIA driver here " + (release.empty() ? "" : "(" + release + ") ") + "is of CUDA " +
         cuda_version_text(driver) + ", and this eave was built with CUDA " + cuda_version_text(toolkit) +
         ", which needs " + oldest_driver(toolkit) + " or later; update the driver" +
         (runs_cuda_12 ? ", or build eave with CUDA 12 (mpi_launch/install_cuda --toolkit 12.4)" : "");
}

std::string no_gpu_is_seen() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string why =
      visible == nullptr
          ? "; nvidia-smi -L lists those of this host, and a scheduler gives a job only those that it asks for"
          : "; CUDA_VISIBLE_DEVICES is '" + std::string(visible) +
                "', and lets through what comes before the first word that is no GPU here: give numbers from 0, or "
                "names "
                "as nvidia-smi -L lists them";
  return "no GPU can be used: the driver sees none" + why + "; or train with --device cpu";
}

std::string advice_for_cuda_error(int error) {
  switch (error) {
    case 2:  // memory
      return "; the GPU's memory is full: nvidia-smi lists what each process holds; a smaller batch or model needs "
             "less";
    case 34:  // stub library
      return "; a stub of the driver, made for linking only, comes first: take its folder (stubs) out of "
             "LD_LIBRARY_PATH";
    case 36:  // call requires a newer driver
      return "; update the driver";
    case 46:  // devices unavailable
      return "; another process has the GPU for itself (nvidia-smi -q -d COMPUTE shows an exclusive mode), or it is "
             "being "
             "reset";
    case 101:  // invalid device
      return "; CUDA_VISIBLE_DEVICES may name a GPU that is not there";
    case 98:   // invalid device function
    case 209:  // no kernel image
    case 222:  // PTX of a newer toolkit
      return "; this eave was compiled for other GPUs: build it with -DCMAKE_CUDA_ARCHITECTURES=native on this host, "
             "or "
             "update the driver";
    case 214:  // ECC
    case 220:  // NVLink
    case 226:  // contained
    case 714:  // hardware stack
      return "; the GPU has failed (nvidia-smi -q -d ECC, and Xid in dmesg): have it reset or replaced; elsewhere the "
             "run "
             "goes on with --resume";
    case 304:  // operating system
      return "; this user may not open /dev/nvidia*, or the scheduler or container gave the job no GPU";
    case 700:
    case 702:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
      return "; a GPU that failed (Xid in dmesg) or a bug of eave: the process cannot use it any more. Start again, "
             "with "
             "--resume if the run has a checkpoint";
    case 802:  // system not ready
      return "; the links between the GPUs are not set up: nvidia-fabricmanager must run, of the driver's release";
    case 803:  // driver mismatch
      return "; the driver was updated and the one in the kernel is older: restart this host";
    case 804:  // forward compatibility
      return "; a forward-compatibility libcuda (cuda-compat) does not serve this GPU: take it out of LD_LIBRARY_PATH "
             "and "
             "update the driver";
    case 805:
    case 806:
    case 807:
    case 808:
    case 809:
    case 810:
      return "; NVIDIA's MPS does not serve this process: look at nvidia-cuda-mps-control on this host";
    case 3:    // initialization
    case 999:  // unknown
      return "; see whether nvidia-smi works on this host: the kernel's module nvidia_uvm may be missing (modprobe "
             "nvidia-uvm), or the GPU lost (Xid in dmesg)";
    default:
      return "";
  }
}

}  // namespace eave
