// The limit that a step's arithmetic is measured against.
#pragma once

namespace eave::bench {

// GFLOP/s of fused multiply-adds in float32 from registers, on the calling thread, with the widest vectors of the
// machine this was built on. Takes about `seconds` of CPU time.
double measure_fma_peak_gflops(double seconds);

}  // namespace eave::bench
