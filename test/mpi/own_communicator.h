// The fixture of tests that use MpiWire directly: an MPI_Comm of their own. The communication thread of the transport
// under test is idle meanwhile, so the test's thread may call MPI.
#pragma once

#include <gtest/gtest.h>

#include "transport/mpi/mpi_library.h"
#include "transport/mpi/mpi_wire.h"

namespace eave {

class OwnCommunicator : public testing::Test {
 protected:
  OwnCommunicator() {
    EAVE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_));
    EAVE_MPI(MPI_Comm_rank(communicator_, &rank_));
    EAVE_MPI(MPI_Comm_size(communicator_, &size_));
  }
  ~OwnCommunicator() override { MPI_Comm_free(&communicator_); }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace eave
