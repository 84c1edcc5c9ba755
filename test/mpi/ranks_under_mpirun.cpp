#include "test/mpi/under_mpirun.h"

int main(int argc, char** argv) {
  return eave::run_under_mpirun(argc, argv, [](eave::Transport& mpi, const auto& body) { body(mpi); });
}
