// The contract of Communicator, for each communicator by name and each number of ranks.
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "every_communicator.h"
#include "recording_transport.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {
namespace {

class CommunicatorContract : public testing::TestWithParam<std::tuple<std::string, Ranks>> {
 protected:
  const std::string& name() const { return std::get<0>(GetParam()); }
  const Ranks& ranks() const { return std::get<1>(GetParam()); }
  Given given() const { return frequent_exchanges(name(), ranks().count); }
};

TEST_P(CommunicatorContract, begin_leaves_all_ranks_with_rank_zeros_parameters_and_statistics) {
  on_ranks(ranks(), [&](Transport& transport) {
    const Problem problem;
    BegunWorker worker(transport, name(), given(), problem);
    EXPECT_EQ(worker.x, problem.start());
    EXPECT_EQ(worker.statistics, std::vector<float>(5, 0.5f));
    EXPECT_EQ(worker.consensus(), problem.start());
  });
}

TEST_P(CommunicatorContract, consensus_is_the_same_on_all_ranks_with_uneven_samples_and_ranks_that_have_none) {
  on_ranks(ranks(), [&](Transport& transport) {
    BegunWorker worker(transport, name(), given(), {.momentum = 0.9, .uneven = true});
    for (int round = 0; round < 5; ++round) {
      worker.run(4);
      EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
    }
    EXPECT_NE(worker.consensus(), Problem().start());
  });
}

TEST_P(CommunicatorContract, consensus_neither_moves_the_replica_nor_changes_the_course) {
  on_ranks(ranks(), [&](Transport& transport) {
    std::vector<std::vector<float>> parameters, consensus;
    for (const bool is_asked : {false, true}) {
      BegunWorker worker(transport, name(), given(), {.momentum = 0.9});
      for (int step = 0; step < 20; ++step) {
        worker.step();
        const std::vector<float> before = worker.x;
        if (is_asked) worker.consensus();
        EXPECT_EQ(worker.x, before);
      }
      consensus.push_back(worker.consensus());
      parameters.push_back(worker.x);
    }
    EXPECT_EQ(parameters[0], parameters[1]);
    EXPECT_EQ(consensus[0], consensus[1]);
  });
}

// eave evaluates the workers only if they may differ from the consensus.
TEST_P(CommunicatorContract, consensus_is_every_replica_unless_the_trait_says_otherwise) {
  on_ranks(ranks(), [&](Transport& transport) {
    if (transport.size() == 1) return;
    BegunWorker worker(transport, name(), given(), {.momentum = 0.9});
    bool differs = false;
    worker.run(12, [&](std::int64_t) {
      for (const std::string& each : transport.all_gather(worker.consensus() == worker.x ? "" : "differs"))
        differs = differs || !each.empty();
    });
    EXPECT_EQ(differs, find_kind(communicator_kinds(), name()).traits.has_center);
  });
}

// The operations in `calls` that `rank` must take part in: all but those among other ranks.
std::string shared_with(int rank, const std::string& calls) {
  std::string shared;
  std::istringstream lines(calls);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t among = line.find(" among ");
    const std::string ranks = among == std::string::npos ? "" : line.substr(among + 6) + " ";
    if (ranks.empty() || ranks.find(" " + std::to_string(rank) + " ") != std::string::npos) shared += line + "\n";
  }
  return shared;
}

TEST_P(CommunicatorContract, ranks_post_the_same_operations_whatever_their_samples) {
  on_ranks(ranks(), [&](Transport& transport) {
    RecordingTransport recording(transport);
    BegunWorker worker(recording, name(), given(), {.size = 3000, .uneven = true}, 12);
    worker.communicator().finish();
    EXPECT_GE(recording.calls.size(), 3u);
    const std::vector<std::string> all = transport.all_gather(recording.text());
    for (int other = 0; other < transport.size(); ++other) {
      EXPECT_EQ(shared_with(transport.rank(), all[static_cast<std::size_t>(other)]),
                shared_with(other, recording.text()));
    }
  });
}

TEST_P(CommunicatorContract, same_run_gives_the_same_bits) {
  on_ranks(ranks(), [&](Transport& transport) {
    std::vector<std::vector<float>> parameters, consensus;
    for (int run = 0; run < 2; ++run) {
      BegunWorker worker(transport, name(), given(), {.size = 1000, .momentum = 0.9, .uneven = true}, 20);
      worker.communicator().finish();
      parameters.push_back(worker.x);
      consensus.push_back(worker.consensus());
    }
    EXPECT_EQ(parameters[0], parameters[1]);
    EXPECT_EQ(consensus[0], consensus[1]);
  });
}

TEST_P(CommunicatorContract, a_run_restored_from_its_state_continues_with_the_same_bits) {
  on_ranks(ranks(), [&](Transport& transport) {
    expect_to_resume(transport, name(), given(), {.momentum = 0.9, .uneven = true}, 20,
                     10);  // easgd: the exchange of step 9 is in flight
  });
}

// Evaluations and checkpoints ask for the consensus in the middle of a training.
TEST_P(CommunicatorContract, asking_for_the_consensus_after_any_step_changes_no_later_bits) {
  on_ranks(ranks(), [&](Transport& transport) {
    for (const bool nesterov : {false, true}) {
      const Problem problem{.momentum = 0.9, .nesterov = nesterov, .uneven = true};
      BegunWorker undisturbed(transport, name(), given(), problem, 20), asked(transport, name(), given(), problem);
      for (int step = 0; step < 20; ++step) {
        asked.run(1);
        asked.consensus();
        asked.communicator().state();
      }
      EXPECT_EQ(asked.x, undisturbed.x);
      EXPECT_EQ(asked.consensus(), undisturbed.consensus());
    }
  });
}

TEST_P(CommunicatorContract, finish_leaves_nothing_in_flight) {
  on_ranks(ranks(), [&](Transport& transport) {
    RecordingTransport recording(transport);
    BegunWorker worker(recording, name(), given(), {}, 10);
    worker.communicator().finish();
    const double waited = worker.communicator().costs().seconds_waiting;
    const std::size_t calls = recording.calls.size();
    EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
    EXPECT_EQ(worker.communicator().costs().seconds_waiting, waited);
    EXPECT_EQ(recording.calls.size(), calls);
  });
}

TEST_P(CommunicatorContract, replicas_of_different_sizes_are_refused_on_all_ranks) {
  on_ranks(ranks(), [&](Transport& transport) {
    Worker worker(transport, name(), given(), {.size = transport.rank() == 1 ? 36u : 37u});
    if (transport.size() == 1) return worker.begin();
    expect_error(ExitCode::kConfiguration, "rank 1 has 36 parameters", [&] { worker.begin(); });
  });
}

TEST_P(CommunicatorContract, equation_is_ascii_and_names_the_number_of_ranks) {
  on_ranks(ranks(), [&](Transport& transport) {
    Worker worker(transport, name(), given(), {});
    const std::string equation = worker.communicator().equation();
    EXPECT_TRUE(says(equation, "p = " + std::to_string(transport.size())));
    EXPECT_TRUE(
        std::all_of(equation.begin(), equation.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  });
}

std::vector<std::tuple<std::string, Ranks>> cases() {
  std::vector<std::tuple<std::string, Ranks>> all;
  for (const Ranks& ranks : ranks_under_test()) {
    for (const std::string& name : communicator_names(ranks.count)) all.emplace_back(name, ranks);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, CommunicatorContract, testing::ValuesIn(cases()), [](const auto& each) {
  return identifier(std::get<0>(each.param) + "_over_" + std::get<1>(each.param).transport + "_" +
                    std::to_string(std::get<1>(each.param).count));
});

}  // namespace
}  // namespace eave
