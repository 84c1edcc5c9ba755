// Finds out whether the ranks of a job can sum by NCCL.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"

namespace eave {

// This host, as NCCL tells hosts apart. Containers with host names of their own are hosts of their own.
std::string host_identity();

// A description of where a rank computes, for the other ranks.
struct NcclPlace {
  std::string device;   // such as "cuda:0 NVIDIA H200"
  std::string library;  // such as "NCCL 2.28.9"; empty: the device has none
  std::string host;     // host_identity()
  std::string bus_id;
};
NcclPlace place_of(const Device& device);  // without the library
// Throws Error(kResource) if eave was not built for the library's version.
std::string collective_library_of(const Device& device);
// A place as text and back, to send it to other ranks.
std::string pack(const NcclPlace& place);
NcclPlace unpack_place(const std::string& text);

// The ranks on the first GPU that several ranks use; empty: every rank has its own.
std::vector<std::size_t> find_sharing_ranks(const std::vector<NcclPlace>& places);
std::string host_of(const NcclPlace& place);  // its name alone

// The reason why ranks at these places cannot use NCCL; an empty reason: they can. The same on every rank.
struct NcclObstacle {
  ExitCode code = ExitCode::kConfiguration;
  std::string reason;  // what NCCL needs: "needs a GPU on every rank, but …"
  std::string remedy;  // "give it a GPU"; empty: none but another transport
};
NcclObstacle find_nccl_obstacle(const std::vector<NcclPlace>& places);

}  // namespace eave
