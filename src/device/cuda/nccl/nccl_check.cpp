#include "device/cuda/nccl/nccl_check.h"

#include <filesystem>
#include <string>

namespace eave::cuda {
namespace {

const char* advice_for(ncclResult_t status) {
  switch (status) {
    case ncclRemoteError:
    case ncclSystemError:
      return "a rank has ended or the network between ranks has failed: see the messages of other ranks";
    case ncclUnhandledCudaError:
      return "see whether this GPU is well (nvidia-smi), and whether all ranks run the same driver";
    default:
      return "NCCL_DEBUG=INFO tells more; --transport mpi does without NCCL";
  }
}

}  // namespace

Error nccl_error(ncclResult_t status, const char* what, const std::source_location& place) {
  const std::string file = std::filesystem::path(place.file_name()).filename();
  std::string text = "NCCL, " + std::string(what) + " (" + file + ":" + std::to_string(place.line()) +
                     "): " + ncclGetErrorString(status);
  const char* const detail = ncclGetLastError(nullptr);
  if (detail != nullptr && *detail != '\0') text += " (" + std::string(detail) + ")";
  const bool is_remote = status == ncclRemoteError || status == ncclSystemError;
  return {is_remote ? ExitCode::kPeerLost : ExitCode::kResource, text + "; " + advice_for(status)};
}

void check_nccl(ncclResult_t status, const char* what, const std::source_location& place) {
  if (status != ncclSuccess && status != ncclInProgress) throw nccl_error(status, what, place);
}

}  // namespace eave::cuda
