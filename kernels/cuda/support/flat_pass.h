// A pass over flat vectors, element by element. It is a small struct of pointers and numbers with the members below.
// kWidth is the number of elements in a packet. apply(i) handles elements i … i + kWidth − 1. before_packet() is
// elements_before_packet of the pass's pointers.
//
//     static constexpr int kWidth;
//     template <int kWidth> __device__ void apply(std::int64_t i) const;
//     int before_packet() const;
//
// Each thread takes one packet. With full occupancy, that keeps several times as many bytes in flight as the memory's
// latency needs. Blocks without loops also share the end of the work evenly. The threads after those with packets take
// the single elements before the first packet and after the last one. If the slices are not aligned alike, all elements
// are taken singly.
#pragma once

#include <algorithm>

#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"

namespace eave::cuda {

template <class Pass>
__global__ void __launch_bounds__(kBlock)
    run_flat(const Pass pass, const std::int64_t head, const std::int64_t packets, const std::int64_t size) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (thread < packets) {
    pass.template apply<Pass::kWidth>(head + thread * Pass::kWidth);
    return;
  }
  const std::int64_t single = thread - packets;
  const std::int64_t i = single < head ? single : single + packets * Pass::kWidth;
  if (i < size) pass.template apply<1>(i);
}

template <class Pass>
void enqueue_flat(const char* name, cudaStream_t stream, const Pass& pass, std::int64_t size) {
  if (size == 0) return;
  const int before = pass.before_packet();
  const std::int64_t head = before < 0 ? size : std::min<std::int64_t>(before, size);
  const std::int64_t packets = (size - head) / Pass::kWidth;
  const std::int64_t threads = size - packets * (Pass::kWidth - 1);
  launch(name, run_flat<Pass>, grid_of(blocks_for(threads)), dim3(kBlock), stream, pass, head, packets, size);
}

}  // namespace eave::cuda
