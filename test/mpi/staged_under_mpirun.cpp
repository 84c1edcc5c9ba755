// Runs the tests under mpirun with all values in a device's memory.
#include "test/mpi/under_mpirun.h"
#include "test/transport/lazy_device.h"
#include "test/transport/on_device.h"

int main(int argc, char** argv) {
  return eave::run_under_mpirun(argc, argv, [](eave::Transport& mpi, const auto& body) {
    eave::LazyDevice device;
    eave::OnDevice on_device(mpi, device, "staged_mpi");
    body(on_device);
  });
}
