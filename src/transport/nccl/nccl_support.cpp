#include "transport/nccl/nccl_support.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "base/host.h"
#include "base/options/number_text.h"
#include "device/device_collectives.h"

namespace eave {
namespace {

std::string name_rank(std::size_t rank, const NcclPlace& place) {
  return "rank " + std::to_string(rank) + " on " + host_of(place);
}

using Places = std::vector<NcclPlace>;

NcclObstacle find_rank_without_library(const Places& places) {
  const auto lacks = [](const NcclPlace& place) { return place.library.empty(); };
  const auto first = std::ranges::find_if(places, lacks);
  if (first == places.end()) return {};
  const auto lacking = std::ranges::count_if(places, lacks);
  if (lacking == std::ssize(places) && first->bus_id.empty())
    return {ExitCode::kUsage, "sums on GPUs, but every rank computes on " + first->device, ""};
  std::string who = name_rank(static_cast<std::size_t>(first - places.begin()), *first);
  if (lacking > 1) who += " (and " + count_text(lacking - 1, "other") + ")";
  if (!first->bus_id.empty())
    return {ExitCode::kConfiguration,
            "needs an eave that was built with it on every rank, but " + who + " has one built without NCCL", ""};
  return {ExitCode::kConfiguration, "needs a GPU on every rank, but " + who + " computes on " + first->device,
          "give it a GPU"};
}

NcclObstacle find_foreign_library(const Places& places) {
  const std::string& first = places.front().library;
  const auto other = std::ranges::find_if(places, [&](const NcclPlace& place) { return place.library != first; });
  if (other == places.end()) return {};
  return {ExitCode::kConfiguration,
          "needs the same NCCL on all ranks: rank 0 has " + first + ", " +
              name_rank(static_cast<std::size_t>(other - places.begin()), *other) + " has " + other->library,
          "install one of them on all hosts"};
}

NcclObstacle find_shared_device(const Places& places) {
  const std::vector<std::size_t> ranks = find_sharing_ranks(places);
  if (ranks.empty()) return {};
  const NcclPlace& place = places[ranks[1]];
  return {ExitCode::kConfiguration,
          "needs a GPU for each rank, but rank " + std::to_string(ranks[0]) + " and " + name_rank(ranks[1], place) +
              " share the one at " + place.bus_id,
          "start no more ranks on a host than it has GPUs"};
}

}  // namespace

// If two ranks on one GPU set different NCCL_HOSTIDs, NCCL takes them for two hosts.
std::string host_identity() {
  if (const char* chosen = std::getenv("NCCL_HOSTID")) return chosen;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return host_name() + " " + boot;
}

NcclPlace place_of(const Device& device) {
  NcclPlace place{.device = device.name(), .library = {}, .host = host_identity(), .bus_id = {}};
  if (const auto* const collective = dynamic_cast<const CollectiveDevice*>(&device))
    place.bus_id = collective->bus_id();
  return place;
}

std::string collective_library_of(const Device& device) {
  const auto* const collective = dynamic_cast<const CollectiveDevice*>(&device);
  return collective ? collective->collective_library() : "";
}

std::string host_of(const NcclPlace& place) { return place.host.substr(0, place.host.find(' ')); }

std::vector<std::size_t> find_sharing_ranks(const Places& places) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> ranks;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (!places[rank].bus_id.empty()) ranks[{places[rank].host, places[rank].bus_id}].push_back(rank);
  std::vector<std::size_t> found;
  for (const auto& [gpu, of_gpu] : ranks)
    if (of_gpu.size() > 1 && (found.empty() || of_gpu < found)) found = of_gpu;
  return found;
}

std::string pack(const NcclPlace& place) {
  return place.device + "\n" + place.library + "\n" + place.host + "\n" + place.bus_id;
}

NcclPlace unpack_place(const std::string& text) {
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1), third = text.find('\n', second + 1);
  return {.device = text.substr(0, first),
          .library = text.substr(first + 1, second - first - 1),
          .host = text.substr(second + 1, third - second - 1),
          .bus_id = text.substr(third + 1)};
}

NcclObstacle find_nccl_obstacle(const Places& places) {
  for (const auto find : {find_rank_without_library, find_foreign_library, find_shared_device})
    if (NcclObstacle obstacle = find(places); !obstacle.reason.empty()) return obstacle;
  return {};
}

}  // namespace eave
