/* A rank of a job over eave.h alone: SGD on sum_k (x_k - rank - k / 10)^2 / 2.
 *
 *     average_job OPTIONS STEPS [own-mpi | own-mpi-single | own-mpi-without-stop | own-mpi-that-is-over]
 * With a third word it initialises MPI by itself.
 *
 * Rank 0 prints the consensus, in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eave.h"
extern char** environ;
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define COUNT 10

static void must(int code) {
  if (code == 0) return;
  if (eave_rank() == 0 || !eave_error_is_shared()) fprintf(stderr, "average_job: %s\n", eave_error());
  exit(code);
}

static void step(eave_averager* averager, float* x, float* g) {
  int updates = 0;
  must(eave_begin_step(averager, 0, 0, 0.1));
  for (int k = 0; k < COUNT; ++k) g[k] = x[k] - (float)eave_rank() - (float)k / 10;
  must(eave_before_update(averager, 0, &updates));
  for (int k = 0; updates && k < COUNT; ++k) x[k] -= 0.1f * g[k];
  must(eave_after_update(averager));
}

static void average(const char* options, int steps) {
  float x[COUNT], g[COUNT], consensus[COUNT];
  double ranks = 1;
  eave_averager* averager = NULL;
  eave_spent spent;
  for (int k = 0; k < COUNT; ++k) x[k] = (float)(1 + eave_rank());
  must(eave_open(options, x, g, COUNT, &averager));
  for (int t = 0; t < steps; ++t) step(averager, x, g);
  must(eave_consensus(averager, consensus));
  must(eave_sum(&ranks, 1));
  must(eave_spent_by(averager, &spent));
  must(eave_close(averager));
  if (ranks != eave_size() || (eave_size() > 1 && spent.bytes <= 0)) exit(1);
  for (int k = 0; eave_rank() == 0 && k < COUNT; ++k) printf("%a\n", (double)consensus[k]);
}

int main(int argc, char** argv) {
  if (argc < 3) return EAVE_USAGE;
#ifdef WITH_MPI
  int provided = 0;
  const int own = argc > 3;
  if (own)
    MPI_Init_thread(NULL, NULL, strcmp(argv[3], "own-mpi-single") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
  if (own && strcmp(argv[3], "own-mpi-that-is-over") == 0) MPI_Finalize();
  if (own && strcmp(argv[3], "own-mpi-of-unknown-launcher") == 0) {
    static char* nothing[] = {NULL};
    environ = nothing;
  }
#endif
  if (eave_interface() != EAVE_INTERFACE) return 1;
  must(eave_start("auto"));
  average(argv[1], atoi(argv[2]));
  if (argc < 4 || strcmp(argv[3], "own-mpi-without-stop") != 0) must(eave_stop());
#ifdef WITH_MPI
  if (own) MPI_Finalize();
#endif
  return 0;
}
