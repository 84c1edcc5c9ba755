#include "device/cpu/dnnl_operation.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <string>

#include "eave/check.h"

namespace eave {

void require_memory_for_code() {
  constexpr std::size_t kEnough = std::size_t{16} << 20;
  void* const probe = ::mmap(nullptr, kEnough, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  ::munmap(probe, kEnough);
}

std::int64_t floats_of(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 63) / 64 * 16); }

dnnl::primitive_attr with_own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void DnnlOperation::set(int argument, const float* data) {
  // oneDNN's interface takes inputs as pointers to non-const, but does not write to them.
  memories_.at(argument).set_data_handle(const_cast<float*>(data));
}

void DnnlOperation::run(dnnl::stream& stream, Slice scratch) {
  set(DNNL_ARG_SCRATCHPAD, scratch.data());
  primitive_.execute(stream, memories_);
}

DnnlRepacking::DnnlRepacking(const dnnl::memory::desc& from, const dnnl::memory::desc& into, const dnnl::engine& engine)
    : is_needed_(from != into) {
  if (!is_needed_) return;
  packed_size_ = floats_of(std::max(from.get_size(), into.get_size()));
  const dnnl::reorder::primitive_desc description(engine, from, engine, into, with_own_scratch());
  operation_ = DnnlOperation(description, engine, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, into}});
}

void DnnlRepacking::run(dnnl::stream& stream, const float* from, float* into, Slice scratch) {
  operation_.set(DNNL_ARG_FROM, from);
  operation_.set(DNNL_ARG_TO, into);
  operation_.run(stream, scratch);
}

Slice ScratchPieces::take(std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  EAVE_CHECK(count <= rest_.size(), "scratch of " + std::to_string(rest_.size()) + " numbers is too small");
  const Slice piece = rest_.first(count);
  rest_ = rest_.subspan(count);
  return piece;
}

}  // namespace eave
