// Whether the ranks of a job can sum by NCCL.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"

namespace eave {

// Where a rank computes, as the others need to know it.
struct NcclPlace {
  std::string device;   // "cuda:0 NVIDIA H200"
  std::string library;  // "NCCL 2.28.9"; empty: the device has none
  std::string host;     // tells hosts apart as NCCL does
  std::string bus_id;
};
NcclPlace place_of(const Device& device);
std::string pack(const NcclPlace& place);
NcclPlace unpack_place(const std::string& text);

// Why ranks at these places cannot; an empty message: they can. The same on every rank.
struct NcclObstacle {
  ExitCode code = ExitCode::kConfiguration;
  std::string message;
};
NcclObstacle find_nccl_obstacle(const std::vector<NcclPlace>& places);

}  // namespace eave
