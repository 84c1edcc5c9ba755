// Finds out whether the ranks of a job can sum by NCCL.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"

namespace eave {

// A description of where a rank computes, for the other ranks.
struct NcclPlace {
  std::string device;   // such as "cuda:0 NVIDIA H200"
  std::string library;  // such as "NCCL 2.28.9"; empty: the device has none
  std::string host;     // tells hosts apart as NCCL does
  std::string bus_id;
};
NcclPlace place_of(const Device& device);
// A place as text and back, to send it to other ranks.
std::string pack(const NcclPlace& place);
NcclPlace unpack_place(const std::string& text);

// The reason why ranks at these places cannot use NCCL; an empty message: they can. The same on every rank.
struct NcclObstacle {
  ExitCode code = ExitCode::kConfiguration;
  std::string message;
};
NcclObstacle find_nccl_obstacle(const std::vector<NcclPlace>& places);

}  // namespace eave
