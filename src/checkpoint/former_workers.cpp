#include "checkpoint/former_workers.h"

#include <algorithm>

namespace eave {
namespace {

// The name of the saved consensus does not tell: a center on a GPU is saved as a copy. Nor does the size of a common
// slice tell alone, because counts may be as many as the parameters. But a method without a center begins with the
// parameters as its consensus.
bool has_own_center(Communicator& communicator, ConstSlice parameters) {
  const bool may_have_one = std::ranges::any_of(communicator.common_state(),
                                                [&](ConstSlice each) { return each.size() == parameters.size(); });
  return may_have_one && communicator.consensus().data() != parameters.data();
}

}  // namespace

bool keeps_workers(const CheckpointHeader& first, Communicator& communicator, ConstSlice parameters) {
  return first.consensus.starts_with("communicator.") || communicator.consensus_is_first_worker() ||
         has_own_center(communicator, parameters);
}

}  // namespace eave
