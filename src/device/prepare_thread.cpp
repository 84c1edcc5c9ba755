#include <omp.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "eave/compute.h"

namespace eave {

void prepare_compute_thread(int threads) {
  omp_set_num_threads(threads);
#pragma omp parallel num_threads(threads)
  {
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush-to-zero and denormals-are-zero
#endif
  }
}

}  // namespace eave
