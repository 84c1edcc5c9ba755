// A slice that goes in many parts gives the same bits as one that goes in few.
#include <gtest/gtest.h>

#include "eave/random.h"
#include "transport/mpi_check.h"
#include "transport/mpi_wire.h"

namespace eave {
namespace {

// The communication thread of the transport under test is idle, so this thread may call MPI.
class Parts : public testing::Test {
 protected:
  Parts() {
    EAVE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_));
    EAVE_MPI(MPI_Comm_rank(communicator_, &rank_));
    EAVE_MPI(MPI_Comm_size(communicator_, &size_));
  }
  ~Parts() override { MPI_Comm_free(&communicator_); }

  std::vector<float> numbers(int rank, std::size_t count) {
    std::vector<float> values(count);
    RandomStream random({.seed = 3}, static_cast<std::uint64_t>(rank));
    for (float& value : values) value = random.normal();
    return values;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

TEST_F(Parts, of_any_length_give_the_same_sums) {
  for (std::size_t count : {1, 2, 8, 9, 1000, 4096, 10007}) {
    std::vector<float> expected = numbers(rank_, count);
    MpiWire(communicator_).all_reduce_sum(expected);
    for (std::size_t part : {1, 2, 7, 64, 1000}) {
      std::vector<float> values = numbers(rank_, count);
      MpiWire(communicator_, part).all_reduce_sum(values);
      EXPECT_EQ(values, expected) << count << " values in parts of " << part;
    }
  }
}

TEST_F(Parts, of_any_length_are_broadcast_whole) {
  for (std::size_t count : {1, 9, 1000, 10007})
    for (std::size_t part : {1, 7, 64, 1000})
      for (int root = 0; root < size_; ++root) {
        std::vector<float> values = numbers(rank_, count);
        MpiWire(communicator_, part).broadcast(values, root);
        EXPECT_EQ(values, numbers(root, count)) << count << " values in parts of " << part;
      }
}

}  // namespace
}  // namespace eave
