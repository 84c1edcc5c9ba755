// The most that a core can compute.
#pragma once

namespace eave {

// FLOP/s of fused multiply-adds in float32 from registers, on the calling thread, with the widest vectors of this CPU:
// the best of some bursts of a fraction of a millisecond. 0 if there is no such loop for the CPU.
double measure_fma_peak();

}  // namespace eave
