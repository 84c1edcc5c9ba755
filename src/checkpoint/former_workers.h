// Whether the workers of a run go on where they were if it goes on with another number of ranks.
#pragma once

#include "checkpoint/checkpoint_format.h"
#include "eave/communicator.h"

namespace eave {

// Collective. Call it after Communicator::begin and before the method's state is restored. Returns whether each former
// worker goes on where it was: the consensus is a variable of the method, such as a center, or the parameters of one
// worker. If the consensus is the workers' mean, all begin from it, and the function returns false. `first` is the
// header of rank 0's file, and `parameters` are those given to begin().
bool keeps_workers(const CheckpointHeader& first, Communicator& communicator, ConstSlice parameters);

}  // namespace eave
