// The arenas of one rank.
#include <gtest/gtest.h>

#include <vector>

#include "eave/check.h"
#include "test/train/training.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

TEST(Replica, has_its_gradients_where_memory_is_lent_for_them) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    Training training(transport, {});
    Model& model = training.model();
    std::vector<float> memory(static_cast<std::size_t>(model.parameter_size()), 1);
    {
      Replica replica(model, training.replica().optimizer, 1, cpu_device(), memory);
      EXPECT_EQ(replica.view().gradients.data(), memory.data());
      EXPECT_EQ(replica.view().gradients.size(), memory.size());
      EXPECT_EQ(memory, std::vector<float>(memory.size(), 1)) << "written by a training step, not before";
    }
    memory.pop_back();
    EXPECT_THROW(Replica(model, training.replica().optimizer, 1, cpu_device(), memory), Error);
  });
}

}  // namespace
}  // namespace eave
