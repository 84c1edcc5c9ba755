// Prepares a thread to compute: its OpenMP threads, and denormal numbers flushed to zero.
#include <omp.h>
#include <pthread.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/thread.h"
#include "eave/compute.h"

namespace eave {
namespace {

// Reads a stack size in bytes, by OpenMP's grammar: a number, blanks, then B, K (also the default), M or G.
std::optional<std::size_t> stack_size_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) return std::nullopt;
  char* unit = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(text, &unit, 10);
  if (errno != 0 || unit == text) return std::nullopt;
  while (*unit == ' ' || *unit == '\t') ++unit;
  const std::size_t power = *unit == '\0' ? 1 : std::string("BbKkMmGg").find(*unit) / 2;
  const int shift = static_cast<int>(10 * power);
  if (power > 3 || number > SIZE_MAX >> shift) return std::nullopt;
  return static_cast<std::size_t>(number) << shift;
}

// A thread with the stack size that OpenMP gives its threads. It sleeps until `end` is set.
class ProbeThread {
 public:
  ProbeThread(std::atomic<bool>& end, int& error) : end_(end) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const auto first = stack_size_of("OMP_STACKSIZE");
    if (const auto stack = first ? first : stack_size_of("GOMP_STACKSIZE"))
      pthread_attr_setstacksize(&attributes, *stack);  // too small a size is ignored, as by OpenMP
    error = pthread_create(&thread_, &attributes, wait, &end_);
    pthread_attr_destroy(&attributes);
  }
  void join() const { pthread_join(thread_, nullptr); }

 private:
  static void* wait(void* end) {
    static_cast<std::atomic<bool>*>(end)->wait(false);
    return nullptr;
  }

  std::atomic<bool>& end_;
  pthread_t thread_{};
};

// OpenMP ends the program if it cannot start a thread. So this first tries to start as many threads itself, and throws
// if one fails.
void require_threads(int threads) {
  std::atomic<bool> end = false;
  std::vector<ProbeThread> started;
  int error = 0;
  while (error == 0 && static_cast<int>(started.size()) + 1 < threads) {
    const ProbeThread probe(end, error);
    if (error == 0) started.push_back(probe);
  }
  end = true;
  end.notify_all();
  for (const ProbeThread& each : started) each.join();
  if (error == 0) return;
  refuse_thread(
      "thread " + std::to_string(started.size() + 2) + " of --threads " + std::to_string(threads) + " to compute",
      std::system_error(error, std::generic_category()), "give fewer --threads");
}

// In this thread, denormal operands and results become zero.
void flush_denormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush-to-zero and denormals-are-zero
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | std::uint64_t{1} << 24));
#endif
}

}  // namespace

void prepare_compute_thread(int threads) {
  require_threads(std::min(threads, omp_get_thread_limit()));
  omp_set_num_threads(threads);
#pragma omp parallel num_threads(threads)
  { flush_denormals(); }
}

}  // namespace eave
