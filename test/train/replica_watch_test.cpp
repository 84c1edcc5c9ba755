// --replica-hash-every: one bit of the values that a method keeps equal on all ranks is flipped on one rank. The run
// must find it.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "eave/agreement.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

std::vector<std::string> methods() { return methods_with(&CommunicatorTraits::exchanges_together); }

class ReplicaFault : public testing::TestWithParam<std::string> {
 protected:
  // Exchanges follow steps 3, 6, 9, ... Replicas are compared after steps 6, 12, ...
  TrainingSetting setting(unsigned seed, bool is_here) const {
    TrainingSetting setting = setting_with(GetParam());
    setting.plan.replica_hash_every = 6;
    setting.plan.steps = 30;
    std::mt19937 random(seed);
    if (is_here) {
      setting.plan.fault = {InjectedFault::Kind::kFlippedBit, 5, static_cast<std::int64_t>(random() % 4096),
                            static_cast<int>(random() % 32)};
    }
    return setting;
  }
};

TEST_P(ReplicaFault, ends_the_run_with_70_and_names_the_rank) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const int wrong = static_cast<int>(seed % 3);
    const EndedJob ended =
        run_job(3, [&](Transport& transport) { Training(transport, setting(seed, transport.rank() == wrong)).run(); });
    EXPECT_EQ(ended.code, 70) << seed;
    const std::string& text = ended.messages[0];
    EXPECT_NE(text.find("after step 6 rank " + std::to_string(wrong) + " on "), std::string::npos) << text;
    EXPECT_EQ(ended.messages, std::vector<std::string>(3, text));
  }
}

TEST_P(ReplicaFault, is_repaired_from_the_majority_to_the_bits_of_a_run_without_it) {
  std::vector<float> undisturbed;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    Training training(transport, setting(0, false));
    EXPECT_EQ(training.run().progress.repaired, 0);
    const std::vector<float> center = training.center();
    if (transport.rank() == 0) undisturbed = center;
  });
  for (unsigned seed = 0; seed < 4; ++seed) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting these = setting(seed, transport.rank() == static_cast<int>(seed % 3));
      these.plan.on_replica_fault = OnReplicaFault::kRepair;
      Training training(transport, these);
      EXPECT_EQ(training.run().progress.repaired, 1);
      EXPECT_EQ(training.center(), undisturbed);
    });
  }
}

// The exchange after step 6 takes in the bit that has been flipped after step 5. Returns the center at the end, and
// expects that a comparison finds a difference only once.
std::vector<float> mend_after_an_exchange(TrainingSetting setting, bool is_flipped, int repaired) {
  std::vector<float> center;
  setting.plan.on_replica_fault = OnReplicaFault::kRepair;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting these = setting;
    if (is_flipped && transport.rank() == 1) these.plan.fault = {InjectedFault::Kind::kFlippedBit, 4, 7, 20};
    Training training(transport, these);
    EXPECT_EQ(training.run().progress.repaired, repaired);
    const std::vector<float> mine = training.center();
    EXPECT_TRUE(same_on_all_ranks(transport, mine));
    if (transport.rank() == 0) center = mine;
  });
  return center;
}

TEST_P(ReplicaFault, that_an_exchange_has_taken_in_is_repaired_once) {
  for (const std::string codec : {"none", "int8"}) {
    SCOPED_TRACE(codec);
    TrainingSetting these = setting(0, false);
    these.averaging.emplace_back("compression", codec);
    // Between two exchanges the workers of local-sgd differ, so the bit is one of a worker's own.
    const bool is_of_worker = GetParam() == "local-sgd";
    const std::vector<float> undisturbed = mend_after_an_exchange(these, false, 0),
                             mended = mend_after_an_exchange(these, true, is_of_worker ? 0 : 1);
    // These send values that the flipped bit does not change.
    const bool has_center = GetParam() != "local-sgd" && GetParam() != "allreduce";
    if (has_center) {
      EXPECT_EQ(mended, undisturbed);
    }
  }
}

TEST_P(ReplicaFault, without_a_majority_ends_the_run_with_70) {
  const EndedJob ended = run_job(2, [&](Transport& transport) {
    TrainingSetting these = setting(1, transport.rank() == 1);
    these.plan.on_replica_fault = OnReplicaFault::kRepair;
    Training(transport, these).run();
  });
  EXPECT_EQ(ended.code, 70);
}

// A checkpoint that was saved with a flipped bit, or loaded with one, must not start a run.
TEST_P(ReplicaFault, that_was_loaded_from_a_checkpoint_is_found_before_the_first_step) {
  const TemporaryDirectory temporary;
  int steps = 0;
  const auto run = [&](std::int64_t first_step) {
    return run_job(3, [&](Transport& transport) {
      TrainingSetting these = setting(3, first_step == 0 && transport.rank() == 1);
      these.plan.replica_hash_every = first_step;
      these.plan.first_step = first_step;
      these.plan.steps = 9;
      these.plan.checkpoints = {.directory = temporary.path() / "checkpoint", .every_steps = 6};
      Training training(transport, these);
      if (first_step > 0 && transport.rank() == 0) training.at_step = [&](const StepRecord&) { ++steps; };
      training.run();
    });
  };
  run(0);  // its exit code does not matter: the flipped bit may make it diverge
  const EndedJob ended = run(6);
  EXPECT_EQ(ended.code, 70);
  EXPECT_EQ(steps, 0);
  const std::string& text = ended.messages[0];
  EXPECT_NE(text.find("as loaded from the checkpoint of step 6 rank 1 on "), std::string::npos) << text;
}

// A bit of the moving average is flipped on rank 1 of 3 after step 5.
void flip_in_average(Training& training, Transport& transport) {
  if (transport.rank() != 1) return;
  training.at_step = [&training](const StepRecord& record) {
    if (record.step != 5) return;
    float& value = training.parts().average->state()[0][7];
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << 20));
  };
}

TEST_P(ReplicaFault, of_the_moving_average_ends_the_run_or_is_repaired) {
  TrainingSetting these = setting(0, false);
  these.ema_decay = 0.9;
  const EndedJob ended = run_job(3, [&](Transport& transport) {
    Training training(transport, these);
    flip_in_average(training, transport);
    training.run();
  });
  EXPECT_EQ(ended.code, 70);
  EXPECT_NE(ended.messages[0].find("after step 6 rank 1 on "), std::string::npos) << ended.messages[0];
  these.plan.on_replica_fault = OnReplicaFault::kRepair;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const std::vector<float> undisturbed = Trained(transport, these).average();
    Training training(transport, these);
    flip_in_average(training, transport);
    EXPECT_EQ(training.run().progress.repaired, 1);
    EXPECT_EQ(training.average(), undisturbed);
  });
}

INSTANTIATE_TEST_SUITE_P(With, ReplicaFault, testing::ValuesIn(methods()), in_identifiers);

TEST(ReplicaHash, changes_no_bit_of_a_run) {
  for (const std::string& method : methods()) {
    std::vector<std::vector<float>> ends;
    for (const std::int64_t every : {0, 1, 5}) {
      on_ranks({"threads", 2}, [&](Transport& transport) {
        TrainingSetting setting = setting_with(method);
        setting.plan.replica_hash_every = every;
        const std::vector<float> center = Trained(transport, setting).center();
        if (transport.rank() == 0) ends.push_back(center);
      });
    }
    EXPECT_EQ(ends[1], ends[0]) << method;
    EXPECT_EQ(ends[2], ends[0]) << method;
  }
}

}  // namespace
}  // namespace eave
