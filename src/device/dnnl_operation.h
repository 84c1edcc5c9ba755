// oneDNN's primitives, made once and run many times.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eave/slice.h"

namespace eave {

// Floats in whole cache lines.
std::int64_t floats_of(std::size_t bytes);

// Scratch memory comes from the caller: a run allocates none.
dnnl::primitive_attr with_own_scratch();

// Throws std::bad_alloc where memory is about to end: oneDNN (2.6) does not ask whether it got any for the code that it
// generates, and the process would end without a word.
void require_memory_for_code();

// A primitive with its memories: a run sets addresses and executes.
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

// From one layout of the same values into another; nothing where they are equal.
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

// Hands out pieces of a scratch slice, one behind the other.
class ScratchPieces {
 public:
  explicit ScratchPieces(Slice scratch) : rest_(scratch) {}
  Slice take(std::int64_t size);  // fails when too little is left
  Slice rest() const { return rest_; }

 private:
  Slice rest_;
};

}  // namespace eave
