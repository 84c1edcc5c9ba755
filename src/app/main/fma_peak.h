// The limit that a step's arithmetic is measured against.
#pragma once

namespace eave {

// FLOP/s of fused multiply-adds in float32 from registers, on the calling thread, with the widest vectors of this CPU:
// the best of some bursts of about a millisecond. 0 if this program has no such loop for the CPU.
double measure_fma_peak();

}  // namespace eave
