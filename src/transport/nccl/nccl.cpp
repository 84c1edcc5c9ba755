// The transport `nccl`: ranks as in `mpi`, each with its own GPU. NCCL carries out the sums, and MPI does all else.
#include "eave/decorators.h"
#include "eave/job.h"
#include "eave/transport.h"

namespace eave {

TransportKind describe_transport_mpi();

namespace {

int run_nccl(int ranks, const std::function<void(Transport&)>& body) {
  return describe_transport_mpi().run(ranks,
                                      [&](Transport& mpi) { body(*make_nccl_transport(mpi, NcclUse::kRequired)); });
}

}  // namespace

TransportKind describe_transport_nccl() {
  return {"nccl", "as mpi, but NCCL sums between the ranks' GPUs", true, run_nccl};
}

}  // namespace eave
