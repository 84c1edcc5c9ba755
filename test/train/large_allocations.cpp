// Replaces glibc's allocator by functions that count and pass on. So it sees operator new, Buffer and the libraries.
// It does not count posix_memalign, which only oneDNN calls: dnnl_sgemm allocates its workspace with it and frees it
// within the call, and glibc keeps the pages.
#include "test/train/large_allocations.h"

#include <atomic>
#include <cstddef>

namespace {

std::atomic<long> calls{0};

void count(std::size_t bytes) {
  if (bytes >= 4096) calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t number, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  count(bytes);
  return __libc_malloc(bytes);
}

void* calloc(std::size_t number, std::size_t bytes) {
  count(number * bytes);
  return __libc_calloc(number, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  count(bytes);
  return __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }

}  // extern "C"

namespace eave {
long large_allocations() { return calls.load(); }
}  // namespace eave
