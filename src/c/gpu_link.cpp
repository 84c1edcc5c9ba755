#include "c/gpu_link.h"

#include <vector>

#include "base/options/spelling.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "transport/nccl/nccl_support.h"

namespace eave {
namespace {

std::vector<NcclPlace> gather_places(Transport& transport, const Device& gpu) {
  NcclPlace own;
  agree(transport, [&] { own = place_of(gpu); });
  std::vector<NcclPlace> places;
  for (const std::string& text : transport.all_gather(pack(own))) places.push_back(unpack_place(text));
  return places;
}

std::string describe_sharing(const std::vector<NcclPlace>& places, const std::vector<std::size_t>& ranks) {
  std::vector<std::string> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(std::to_string(rank));
  const NcclPlace& place = places[ranks.front()];
  return "ranks " + comma_list(numbers) + " on " + host_of(place) + " share one GPU, " + place.device + " (" +
         place.bus_id +
         "). Give each rank its own: in PyTorch, call torch.cuda.set_device(eave.local_rank()) before "
         "model.to(\"cuda\"); "
         "in C, give eave_open gpu=N with N from eave_local_rank()";
}

}  // namespace

std::unique_ptr<Transport> make_gpu_link(Transport& transport, const Device& gpu, const AveragerJob& job) {
  if (transport.size() == 1) return nullptr;
  const std::vector<NcclPlace> places = gather_places(transport, gpu);
  if (const std::vector<std::size_t> ranks = find_sharing_ranks(places); !ranks.empty()) {
    if (transport.rank() == 0) job.warn(describe_sharing(places, ranks));
    return nullptr;
  }
  if (!job.tries_nccl) return nullptr;
  std::unique_ptr<Transport> nccl = make_nccl_transport(transport, NcclUse::kWherePossible, job.warn);
  job.watch(nccl->device_calls());
  return nccl;
}

}  // namespace eave
