// Tests `eave plan` on a run that `eave train` has just made.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

class PlanProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    place_ = std::make_unique<Place>();
    expect_end(0, place_->eave("train" + std::string(kQuick) +
                               "--transport threads --ranks 2 --epochs 8 --communicator easgd --tau 3 "
                               "--shape-rate 1gbit --run-dir run"));
  }
  static void TearDownTestSuite() { place_.reset(); }
  static std::unique_ptr<Place> place_;
};

std::unique_ptr<Place> PlanProgram::place_;

TEST_F(PlanProgram, prints_one_ranked_table_what_is_assumed_and_what_is_first) {
  const Ended ended = expect_output(0, place_->eave("plan run"),
                                    {"ranks   method", " allreduce ", "local-sgd, tau 10", "easgd, tau 3",
                                     "easgd-tree, tau ", "easgd-async, tau ", "gossip, tau ", "\nassumed:\n",
                                     "125.0 MB/s each way per host "
                                     "(that of the run's shaped link)",
                                     "the run is too short to plan well: its ranks computed for 0."});
  expect_parts(ended.output,
               {"\n4096 ", "\nFirst by this plan, in time only: ", "4096 ranks", "plans for more than 8 hosts",
                "The methods have different taus: --tau N plans all of them with the same.\n"});
}

TEST_F(PlanProgram, ranks_methods_within_each_number_of_ranks) {
  expect_end(0, place_->eave(
                    "plan run --ranks 8,2 --network-rate 1mbit --communicators allreduce,local-sgd --json plan.json"));
  const auto plan = json_in(*place_, "plan.json");
  EXPECT_EQ(plan.at("ranking").size(), 2u);
  const std::string first = plan.at("ranking")[0];
  EXPECT_EQ(first.rfind("on 2 ranks, local-sgd, tau 10 is first (", 0), 0u) << first;
  EXPECT_NE(first.find("; the difference exceeds the model's error of 3 % and 5 %"), std::string::npos) << first;
  const auto& row = plan.at("plans")[0].at("rows")[0];
  EXPECT_DOUBLE_EQ(row.at("model_error").get<double>(), 0.05);
  EXPECT_NEAR(row.at("speed").get<double>(), row.at("ranks").get<double>() * row.at("efficiency").get<double>(), 1e-6);
}

TEST_F(PlanProgram, writes_as_json_what_the_run_and_the_options_say) {
  expect_end(0, place_->eave(
                    "plan --json plan.json --ranks 1,64 --ranks-per-host 8 --network-rate 100kbit --network-delay 1ms "
                    "--communicators allreduce,easgd-tree,downpour --tau 4 --global-tau 8 --center-ranks 0 run"));
  const auto plan = json_in(*place_, "plan.json");
  EXPECT_EQ(plan.at("measured").at("ranks"), 2);
  EXPECT_EQ(plan.at("measured").at("communicator"), "easgd");
  EXPECT_EQ(plan.at("network").at("bytes_per_second"), 12500);
  EXPECT_EQ(plan.at("network").at("ranks_per_host"), 8);
  const auto& plans = plan.at("plans");
  ASSERT_EQ(plans.size(), 4u);  // allreduce counts twice: by host and flat
  EXPECT_EQ(plans[0].at("transport"), "mpi");
  EXPECT_EQ(plans[1].at("transport"), "mpi-flat");
  EXPECT_EQ(plans[2].at("global_tau"), 8);
  EXPECT_EQ(plans[3].at("tau"), 4);
  EXPECT_DOUBLE_EQ(plans[0].at("rows")[0].at("efficiency").get<double>(), 1);
  EXPECT_LT(plans[0].at("rows")[1].at("step_seconds").get<double>(),
            plans[1].at("rows")[1].at("step_seconds").get<double>());
  EXPECT_EQ(plans[1].at("rows")[1].at("bound"), "network");
}

// Compressed sums go directly between all ranks, so transports do not differ in them.
TEST_F(PlanProgram, plans_compressed_sums_once_and_flat) {
  expect_end(0, place_->eave(quick(" --transport threads --ranks 2 --epochs 8 --communicator allreduce --compression "
                                   "int8 --run-dir compressed")));
  const std::string words =
      "plan compressed --json plan.json --ranks 16 --ranks-per-host 8 --communicators allreduce,local-sgd";
  const Ended ended = expect_output(0, place_->eave(words),
                                    {"compressed sums go directly between all ranks: a host does not add up those of "
                                     "its ranks first"});
  EXPECT_EQ(ended.output.find("hierarchical"), std::string::npos) << ended.output;
  const auto plan = json_in(*place_, "plan.json");
  ASSERT_EQ(plan.at("plans").size(), 2u);
  EXPECT_NEAR(plan.at("plans")[0].at("rows")[0].at("link_bytes").get<double>(),
              2 * 8 * 8.0 / 16 * plan.at("measured").at("sum_bytes").get<double>(), 1);
}

TEST_F(PlanProgram, waits_for_exchanges_as_the_run_did) {
  const auto milliseconds = [&](const std::string& communicator, const std::string& said) {
    expect_output(0,
                  place_->eave("plan waiting --json plan.json --ranks 2 --network-rate 100kbit --communicators " +
                               communicator + " --tau 3"),
                  {said});
    return 1e3 * json_in(*place_, "plan.json").at("plans")[0].at("rows")[0].at("step_seconds").get<double>();
  };
  const std::string train =
      "train" + std::string(kQuick) + "--transport threads --ranks 2 --epochs 8 --tau 3 --run-dir waiting --overwrite ";
  for (const std::string setting : {"--overlap off", "--order center-first"}) {
    expect_end(0, place_->eave(train + "--communicator easgd " + setting));
    EXPECT_NEAR(milliseconds("easgd", "easgd waits for each exchange, as the run did with " + setting),
                milliseconds("local-sgd", "a sum carries"), 1e-6);
  }
  expect_end(0, place_->eave(train + "--communicator easgd-tree --overlap off"));
  EXPECT_NEAR(milliseconds("easgd-tree --ranks-per-host 2",
                           "easgd-tree waits for each exchange, as the run did with --overlap off"),
              milliseconds("local-sgd --ranks-per-host 2", "a sum carries"), 1e-6);
  expect_end(0, place_->eave(train + "--communicator easgd-tree --groups 2 --global-tau 6"));
  for (const auto& [tau, above] : {std::pair("3", 6), std::pair("4", 40)}) {  // 6 is no multiple of 4
    expect_end(0, place_->eave("plan waiting --json plan.json --ranks 2 --communicators easgd-tree --tau " +
                               std::string(tau)));
    EXPECT_EQ(json_in(*place_, "plan.json").at("plans")[0].at("global_tau"), above);
  }
}

TEST_F(PlanProgram, leaves_frames_their_share_of_a_rate_that_is_given_and_not_of_a_measured_one) {
  const auto plan = [&](const std::string& words) {
    expect_end(0, place_->eave("plan run --json plan.json --ranks 2 --communicators allreduce" + words));
    return json_in(*place_, "plan.json");
  };
  EXPECT_EQ(plan("").at("network").at("payload"), 1) << "a shaped link has no frames";
  const auto given = plan(" --network-rate 100kbit --network-delay 0s");
  EXPECT_EQ(given.at("network").at("payload"), 0.93);
  const double bytes = given.at("measured").at("sum_bytes"),
               seconds = given.at("plans")[0].at("rows")[0].at("step_seconds");
  EXPECT_NEAR(seconds, bytes / (0.93 * 12500), 0.02 * seconds) << "or the network is not what bounds this step";
  expect_output(0, place_->eave("plan run --network-rate 100kbit"), {"(as given), 93 % of it values, the rest frames"});
}

// The network delay is 10 measured steps, however slowly this build computes. So no --pull-delay here hides all of it.
TEST_F(PlanProgram, hides_an_asynchronous_exchange_behind_the_steps_before_its_pull) {
  const auto plan = [&](const std::string& words) {
    expect_end(0, place_->eave("plan run --json plan.json --ranks 2 --communicators easgd-async --tau 8 " + words));
    return json_in(*place_, "plan.json");
  };
  const double measured = plan("").at("measured").at("step_seconds").get<double>();
  const std::string network_delay = " --network-delay " + std::to_string(10 * measured) + "s";
  const auto step_seconds = [&](const std::string& pull_delay) {
    return plan("--pull-delay " + pull_delay + network_delay)
        .at("plans")[0]
        .at("rows")[0]
        .at("step_seconds")
        .get<double>();
  };
  EXPECT_LT(step_seconds("7"), step_seconds("3"));
  EXPECT_LT(step_seconds("3"), step_seconds("0"));
}

TEST_F(PlanProgram, prints_the_rate_that_it_understood) {
  for (const auto& [given, text] :
       std::vector<std::pair<std::string, std::string>>{{"10Gb/s", "10 Gbit/s, 1.2 GB/s"},
                                                        {"10GB/s", "80 Gbit/s, 10.0 GB/s"},
                                                        {"100mbit", "100 Mbit/s, 12.5 MB/s"},
                                                        {"1b/s", "1 bit/s, 0.12 B/s"}}) {
    const Ended ended = place_->eave("plan run --ranks '2, 4' --network-rate " + given);
    expect_parts(ended.output, {"network: " + text + " each way per host (as given)"});
  }
}

TEST_F(PlanProgram, refuses_a_rate_within_hosts_of_one_rank) {
  expect_end(64, place_->eave("plan run --ranks 8 --host-rate 1GB/s --ranks-per-host 1"),
             {"--host-rate 1GB/s", "has no effect with --ranks-per-host 1"});
  expect_end(0, place_->eave("plan run --ranks 8 --host-rate 1GB/s --ranks-per-host 2"));
}

TEST_F(PlanProgram, prints_nothing_as_0_that_is_not) {
  const Ended ended = expect_output(
      0,
      place_->eave(
          "plan run --ranks 2 --communicators allreduce --network-rate 1b/s --host-rate 1bit --network-delay 7ns "
          "--message-time 3ns"),
      {"delay 0.007 us", "0.003 us for each message", "within a host 0.12 B/s per rank"});
  const std::string row = ended.output.substr(ended.output.find("\n2 "), 120);
  EXPECT_EQ(row.find(" 0 "), std::string::npos) << row;
}

TEST_F(PlanProgram, takes_the_bytes_from_what_was_sent) {
  expect_end(0, place_->eave("plan run --json plan.json --ranks 2 --communicators easgd"));
  const auto plan = json_in(*place_, "plan.json");
  const auto summary = json_in(*place_, "run/summary.json");
  const double of_step = plan.at("plans")[0].at("rows")[0].at("bytes_per_rank");
  const double sent = summary.at("bytes_per_rank").get<double>() / summary.at("steps").get<double>();
  EXPECT_NEAR(of_step, sent, 0.5 * sent);  // the run also sent evaluations, and made no exchange at its start
  EXPECT_DOUBLE_EQ(of_step * 3, plan.at("measured").at("sum_bytes").get<double>());
}

TEST_F(PlanProgram, refuses_what_it_does_not_understand) {
  const auto expect = [&](const std::string& words, int code, const std::string& says) {
    expect_end(code, place_->eave("plan " + words), {says});
  };
  expect("", 64, "no run directory given");
  expect("run run", 64, "more than one run directory");
  expect("missing", 66, "missing");
  expect("run --ranks 2,none", 64, "--ranks 2,none");
  expect("run --ranks 0", 64, "from 1 to 65536");
  expect("run --communicators easgd,asgd", 64, "'asgd' cannot be planned");
  expect("run --communicators allreduce --tau 3", 64, "--tau 3 (command line): has no effect");
  expect("run --communicators easgd --global-tau 30", 64, "names no easgd-tree");
  expect("run --communicators easgd --center-ranks 1", 64, "no asynchronous method");
  expect("run --communicators easgd --pull-delay 1", 64, "no easgd-async");
  expect("run --communicators easgd-async --tau 4 --pull-delay 4", 64, "less than tau");
  expect("run --center-ranks 2 --ranks 2,4", 64, "leaves no rank to train");
  expect("run --tau 4 --global-tau 6", 64, "expected a multiple of tau");
  expect("run --network-rate 0", 64, "--network-rate");
  expect("run --network-rate 10gb/s", 64, "expected 10Gb/s for bits, or 10GB/s for bytes");
  expect("run --communicators esagd", 64, "did you mean easgd?");
  expect("run --ranks 2,,4", 64, "item 2 is empty");
  expect("'~nobody-is-called-so/run'", 64, "no user 'nobody-is-called-so'");
  expect("run --json missing/plan.json --ranks 2", 73, "missing");
  place_->write("torn/metrics.jsonl", "{\"type\":\"hea");
  expect("torn", 65, "torn: metrics.jsonl has no whole line");
}

}  // namespace
}  // namespace eave
