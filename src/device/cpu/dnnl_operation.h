// oneDNN's primitives, made once and run many times.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eave/slice.h"

namespace eave {

// `bytes` rounded up to whole cache lines of 64 bytes, as a number of floats.
std::int64_t floats_of(std::size_t bytes);

// Attributes of primitives whose scratch memory the caller provides, so that a run allocates nothing.
dnnl::primitive_attr with_own_scratch();

// Throws std::bad_alloc if memory is almost exhausted. oneDNN (2.6) does not check whether it got memory for the code
// that it generates, so the process would die without a message.
void require_memory_for_code();

// A primitive with its memory objects. A run only sets addresses and executes.
class DnnlOperation {
 public:
  using Arguments = std::vector<std::pair<int, dnnl::memory::desc>>;
  DnnlOperation() = default;
  template <class Description>
  DnnlOperation(const Description& description, const dnnl::engine& engine, const Arguments& arguments)
      : scratch_size_(floats_of(description.scratchpad_desc().get_size())) {
    require_memory_for_code();
    primitive_ = dnnl::primitive(description.get());
    for (const auto& [argument, layout] : arguments) memories_.emplace(argument, dnnl::memory(layout, engine, nullptr));
    memories_.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(description.scratchpad_desc(), engine, nullptr));
  }

  std::int64_t scratch_size() const { return scratch_size_; }
  void set(int argument, const float* data);
  void run(dnnl::stream& stream, Slice scratch);

 private:
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> memories_;
  std::int64_t scratch_size_ = 0;
};

// Copies values from one layout to another. If both layouts are equal, there is nothing to do and is_needed() is false.
class DnnlRepacking {
 public:
  DnnlRepacking() = default;
  DnnlRepacking(const dnnl::memory::desc& from, const dnnl::memory::desc& into, const dnnl::engine& engine);

  bool is_needed() const { return is_needed_; }
  std::int64_t packed_size() const { return packed_size_; }
  std::int64_t scratch_size() const { return operation_.scratch_size(); }
  void run(dnnl::stream& stream, const float* from, float* into, Slice scratch);

 private:
  bool is_needed_ = false;
  std::int64_t packed_size_ = 0;
  DnnlOperation operation_;
};

// Hands out consecutive pieces of a scratch slice.
class ScratchPieces {
 public:
  explicit ScratchPieces(Slice scratch) : rest_(scratch) {}
  Slice take(std::int64_t size);  // throws Error if less than `size` is left
  Slice rest() const { return rest_; }

 private:
  Slice rest_;
};

// The next three functions describe oneDNN's convolutions. oneDNN 2 and 3 build them differently: dnnl_v2.cpp and
// dnnl_v3.cpp both define these functions, and CMake compiles the one that fits the installed library.
struct DnnlConvolution {
  dnnl::memory::desc input, weights, bias, output;  // a bias without dimensions means no bias
  dnnl::memory::dims strides, pad_before, pad_after;
};

using ForwardDescription = dnnl::convolution_forward::primitive_desc;
using BackwardDataDescription = dnnl::convolution_backward_data::primitive_desc;
using BackwardWeightsDescription = dnnl::convolution_backward_weights::primitive_desc;

ForwardDescription describe_forward(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                    const dnnl::primitive_attr& attributes);
BackwardDataDescription describe_backward_data(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                               const dnnl::primitive_attr& attributes, const ForwardDescription& hint);
BackwardWeightsDescription describe_backward_weights(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                                     const dnnl::primitive_attr& attributes,
                                                     const ForwardDescription& hint);

}  // namespace eave
