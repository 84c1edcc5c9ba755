// Tests `eave suggest` on runs that `eave train` has just made, and on made-up runs whose answer is known.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "eave/check.h"
#include "report/record/metrics_writer.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

// A made-up run. Each rank is on a host of its own.
struct Made {
  std::string communicator = "allreduce", model = "lenet";
  int ranks = 2, steps = 300;
  std::vector<double> computing_ms = {10};  // of each rank; the last counts for all further ranks
  double exchange_ms = 0;                   // for which each rank waits
  std::int64_t parameters = 25'000;
  Metric metric = {};
  std::map<std::string, std::string> settings = {};
  std::string failure = {};  // the run diverged with this message
  std::string data_identity = {};
};

double computing_of(const Made& made, int rank) {
  return 1e-3 * made.computing_ms[std::min(static_cast<std::size_t>(rank), made.computing_ms.size() - 1)];
}

RunHeader header_of(const Made& made) {
  RunHeader header;
  header.config = {{"communicator", made.communicator}, {"model", made.model}, {"batch", "32"}, {"lr", "0.1"}};
  for (const auto& [name, text] : made.settings) header.config[name] = text;
  if (header.config.contains("max-tokens")) header.tokens_per_sample = 64;
  header.metric = made.metric;
  header.communicator = made.communicator;
  header.model = made.model;
  header.parameters = made.parameters;
  header.data_identity = made.data_identity;
  header.train_samples = 60'000;
  header.ranks.resize(static_cast<std::size_t>(made.ranks));
  for (std::size_t rank = 0; rank < header.ranks.size(); ++rank)
    header.ranks[rank].host = "host" + std::to_string(rank);
  return header;
}

std::vector<StepRecord> steps_of(const Made& made, int rank) {
  double longest = 0;
  for (int each = 0; each < made.ranks; ++each) longest = std::max(longest, computing_of(made, each));
  std::vector<StepRecord> records;
  for (int step = 1; step <= made.steps; ++step) {
    StepRecord& record = records.emplace_back();
    record.step = step;
    record.samples = std::int64_t{32} * made.ranks * step;
    record.epoch = static_cast<double>(record.samples) / 60'000;
    record.loss = 1;
    record.computing = computing_of(made, rank);
    record.waiting = longest + 1e-3 * made.exchange_ms - record.computing;
    record.exchanging = record.waiting;
    record.seconds = step * (longest + 1e-3 * made.exchange_ms);
    record.bytes = 4 * made.parameters;
  }
  return records;
}

void make_run(const Place& place, const std::string& name, const Made& made) {
  std::filesystem::create_directories(place.path() / name);
  MetricsWriter writer(place.path() / name / "metrics.jsonl");
  writer.write_header(header_of(made));
  for (int rank = 0; rank < made.ranks; ++rank) writer.write_steps(rank, steps_of(made, rank));
  if (!made.failure.empty()) writer.write_failure(Error(ExitCode::kDiverged, made.failure));
  ASSERT_EQ(writer.flush(), "");
}

nlohmann::json answer_of(const Place& place, const std::string& words) {
  expect_end(0, place.eave("suggest " + words + " --json answer.json"));
  return json_in(place, "answer.json");
}

TEST(SuggestProgram, stays_with_allreduce_where_it_costs_little) {
  const Place place;
  make_run(place, "run", {});
  const Ended ended = expect_output(
      0, place.eave("suggest run --ranks 4 --network-rate 10gbit"),
      {"use allreduce on 4 ranks: waiting costs it 2 % of a step\n\n"
       "  mpirun -np 4 eave train --communicator allreduce --model lenet --lr 0.141 --run-dir allreduce-4\n"
       "  with 1 rank on each of 4 hosts: give mpirun your list of hosts, or use mpi_launch/run-hosts\n",
       "\nbecause\n- allreduce takes 10.", "10 Gbit/s between hosts (as given)",
       "- local-sgd, tau 4, the fastest of the others, would take only 1.02 times as many steps/s (planned from run)\n",
       "- 4 ranks train 3.9 times the samples/s of one: ",
       "\nlearning rate 0.141\n- the run's 0.1 times the root of 4/2, since gradients are averaged over 4 workers"});
  EXPECT_EQ(ended.output.find("would settle"), std::string::npos) << ended.output;
}

TEST(SuggestProgram, leaves_allreduce_where_links_are_slow) {
  const Place place;
  make_run(place, "run", {.parameters = 1'500'000});
  expect_output(
      0, place.eave("suggest run --ranks 4 --network-rate 1gbit"),
      {"use local-sgd, tau 64 on 4 ranks\n\n"
       "  mpirun -np 4 eave train --communicator local-sgd --tau 64 --model lenet --lr 0.1 --run-dir local-sgd-4\n",
       "- allreduce takes 8", "% is waiting (planned from run, 1 Gbit/s between hosts (as given))",
       "times as soon (12 cases of lenet and cifar7, bench/results/time-to-accuracy.md)",
       "each replica keeps its batch, and so its rate",
       "not known\n- the accuracy of local-sgd, tau 64 on this model and data was not measured\n",
       "this comparison would settle the accuracy:\n\n"
       "  mpirun -np 4 eave compare --communicators local-sgd:tau=64 --ranks 4 --seeds 5 --lr 0.05,0.1,0.2 --model "
       "lenet\n"});
  EXPECT_EQ(answer_of(place, "run --ranks 4 --network-rate 100mbit").at("communicator"), "easgd");
}

TEST(SuggestProgram, uses_one_rank_for_a_tiny_model_behind_a_long_delay) {
  const Place place;
  make_run(place, "run", {.computing_ms = {0.05}, .exchange_ms = 10});
  expect_output(0, place.eave("suggest run --network-delay 5ms --network-rate 1gbit"),
                {"use one rank: with more, nothing gains\n\n  eave train --communicator none --model lenet --lr 0.1 ",
                 "times the samples/s of one rank (planned from run)"});
}

TEST(SuggestProgram, does_not_let_ranks_wait_for_a_slow_one) {
  const Place place;
  make_run(place, "run", {.ranks = 4, .computing_ms = {10, 10, 10, 40}});
  expect_output(0, place.eave("suggest run"),
                {"use easgd-async, tau 4 on 4 ranks\n",
                 "- rank 3 computes 4.0 times as long as the others (measured by run): allreduce waits for it, ",
                 "bench/results/methods.md",
                 "- the rate of the links is assumed, 10 Gbit/s: measure it with eave bench-comm on your hosts"});
}

TEST(SuggestProgram, believes_runs_more_than_plans) {
  const Place place;
  make_run(place, "runs/a",
           {.ranks = 4, .exchange_ms = 20, .parameters = 500'000, .settings = {{"shape-rate", "1gbit"}}});
  EXPECT_EQ(answer_of(place, "runs").at("answer"), "method");
  make_run(place, "runs/b",
           {.communicator = "local-sgd",
            .ranks = 4,
            .exchange_ms = 18,
            .parameters = 500'000,
            .settings = {{"shape-rate", "1gbit"}, {"tau", "16"}}});
  make_run(place, "runs/c",
           {.communicator = "easgd",
            .ranks = 4,
            .parameters = 500'000,
            .settings = {{"shape-rate", "1gbit"}, {"tau", "4"}},
            .failure = "training diverged"});
  const auto answer = answer_of(place, "runs --communicators local-sgd,easgd");
  for (const auto& trial : answer.at("trials")) {
    const std::string name = trial.at("communicator").get<std::string>() + std::to_string(trial.value("tau", 0));
    if (name == "local-sgd16") {
      EXPECT_EQ(trial.at("source"), "measured by runs/b");
    } else if (name == "easgd4") {
      EXPECT_EQ(trial.at("why_not"), "runs/c diverged with it");
    }
  }
  EXPECT_NE(answer.value("communicator", "") + std::to_string(answer.value("tau", 0)), "easgd4");
  EXPECT_NE(answer.value("communicator", "") + std::to_string(answer.value("tau", 0)), "local-sgd16");
}

TEST(SuggestProgram, answers_for_a_program_of_ones_own_and_another_metric) {
  const Place place;
  make_run(
      place, "run",
      {.model = "Net", .parameters = 1'500'000, .metric = {"perplexity", true}, .settings = {{"program", "own.py"}}});
  expect_output(
      0, place.eave("suggest run --ranks 4 --network-rate 1gbit"),
      {"  mpirun -np 4 python3 own.py\n  with eave.Averager(model, optimizer, \"local-sgd\", tau=64) in the program\n",
       "  eave compare --program 'python3 own.py' --communicators local-sgd:tau=64 --ranks 4 --seeds 5 --lr "
       "0.05,0.1,0.2\n"});
  make_run(place, "vectors", {.parameters = 1'500'000, .settings = {{"program", "own.py"}, {"python", "3.11.2"}}});
  expect_output(0, place.eave("suggest vectors --ranks 4 --network-rate 1gbit"),
                {"  with eave.VectorAverager(parameters, gradients, \"local-sgd\", tau=64) in the program\n"});
  make_run(place, "of_c", {.parameters = 1'500'000, .settings = {{"program", "own"}}});
  const Ended of_c = expect_output(0, place.eave("suggest of_c --ranks 4 --network-rate 1gbit"),
                                   {"  mpirun -np 4 ./own\n  with eave_open(\"communicator=local-sgd tau=64\", ...) in "
                                    "the program\n"});
  EXPECT_EQ(of_c.output.find("compare --program"), std::string::npos) << "compares scripts of Python only";
}

TEST(SuggestProgram, takes_the_network_from_a_table_of_bench_comm) {
  const Place place;
  make_run(place, "run", {.parameters = 1'500'000});
  place.write("table",
              "# allreduce over mpi, 2 ranks on 2 hosts, values\n 4 1 float sum -1 100 0 0 0\n"
              " 1000000 250000 float sum -1 8100 0 0 0\n");
  expect_output(0, place.eave("suggest run --bench-comm table"), {"1 Gbit/s between hosts (measured in table)"});
  expect_end(64, place.eave("suggest run --bench-comm table --network-rate 1gbit"), {"contradicts --bench-comm"});
}

// The runs of one tau differ in alpha; the default of alpha was not tried.
TEST(SuggestProgram, advises_options_that_a_run_had) {
  const Place place;
  make_run(place, "runs/a", {.ranks = 4, .exchange_ms = 20, .parameters = 500'000});
  make_run(place, "runs/b",
           {.communicator = "easgd",
            .ranks = 4,
            .parameters = 500'000,
            .settings = {{"tau", "4"}, {"alpha", "0.07"}, {"lr", "0.03"}}});
  const auto answer = answer_of(place, "runs --communicators easgd");
  EXPECT_EQ(answer.at("options").at("alpha"), "0.07");
  const std::string command = answer.at("command");
  expect_parts(command, {"--communicator easgd --tau 4 --alpha 0.07 ", "--lr 0.03"});
}

// Two runs of one comparison: allreduce, and a tree that waits less.
void make_tree(const Place& place, std::map<std::string, std::string> settings) {
  const Made flat{.ranks = 4, .exchange_ms = 20, .parameters = 500'000, .settings = settings};
  make_run(place, "runs/a", flat);
  settings.insert({{"tau", "4"}, {"groups", "2"}});
  make_run(place, "runs/b",
           {.communicator = "easgd-tree", .ranks = 4, .parameters = 500'000, .settings = std::move(settings)});
}

// A tree is named with its two periods, each once. 10 tau is the default.
TEST(SuggestProgram, advises_the_two_periods_of_a_tree) {
  for (const auto& [global_tau, words] : {std::pair("8", "--tau 4 --global-tau 8 "), std::pair("40", "--tau 4 ")}) {
    const Place place;
    make_tree(place, {{"global-tau", global_tau}});
    const Ended ended =
        expect_output(0, place.eave("suggest runs --communicators easgd-tree"),
                      {std::string("use easgd-tree, tau 4, global-tau ") + global_tau + " on 4 ranks\n",
                       std::string("eave train --communicator easgd-tree ") + words + "--model lenet --groups 2 ",
                       "(measured by runs/b)"});
    EXPECT_EQ(ended.output.find(std::string("global-tau ") + global_tau + ", global-tau"), std::string::npos)
        << ended.output;
  }
}

// A program's method takes its options where it is opened.
TEST(SuggestProgram, advises_all_options_of_a_programs_method) {
  const Place place;
  make_tree(
      place,
      {{"program", "own.py"}, {"python", "3.11.2"}, {"pytorch", "2"}, {"global-tau", "8"}, {"allow-unstable", "on"}});
  expect_output(0, place.eave("suggest runs --communicators easgd-tree"),
                {"with eave.Averager(model, optimizer, \"easgd-tree\", tau=4, global_tau=8, groups=2, "
                 "allow_unstable=\"on\") in the program\n",
                 "--communicators easgd-tree:tau=4:global-tau=8:groups=2:allow-unstable=on "});
}

// The advised command trains, as it stands.
TEST(SuggestProgram, gives_a_command_that_trains) {
  const Place place;
  expect_end(0, place.eave("train" + std::string(kQuick) +
                           "--transport threads --ranks 2 --epochs 8 --communicator easgd --tau 3 --shape-delay 2ms "
                           "--momentum 0.5 --max-steps 60 --lr 0.02 --run-dir runs/short"));
  const std::string command = answer_of(place, "runs/short").at("command");
  EXPECT_EQ(command.find("max-steps"), std::string::npos) << command;
  EXPECT_NE(command.find("--momentum 0.5"), std::string::npos) << command;
  ASSERT_EQ(command.rfind("eave train ", 0), 0u) << command;
  expect_end(0, place.eave(command.substr(5)));
}

// eave compare gives such runs a million epochs and ten evaluations. 60,000 samples are an epoch.
TEST(SuggestProgram, advises_the_budget_of_a_comparison_and_not_its_own_numbers) {
  for (const auto& [option, limit, length, budget] :
       {std::array<std::string, 4>{"max-samples", "150000", "--epochs 2.5 ", "samples=150000"},
        std::array<std::string, 4>{"max-tokens", "9.6e6", "--epochs 2.5 ", "tokens=9.6e6"},
        std::array<std::string, 4>{"stop-after-time", "60s", "", "time=60s"}}) {
    const Place place;
    make_run(
        place, "run",
        {.parameters = 1'500'000,
         .settings = {{"epochs", "1000000"}, {option, limit}, {"evaluations", "10"}, {"evaluate-workers", "off"}}});
    const Ended ended =
        expect_output(0, place.eave("suggest run --ranks 4 --network-rate 1gbit"),
                      {"--seeds 5 --lr 0.05,0.1,0.2 --budget " + budget + " --model lenet\n",
                       "eave train --communicator local-sgd --tau 64 --model lenet " + length + "--lr"});
    EXPECT_EQ(ended.output.find("1000000"), std::string::npos) << ended.output;
    EXPECT_EQ(ended.output.find("--evaluat"), std::string::npos) << ended.output;
  }
}

TEST(SuggestProgram, considers_a_method_of_a_plugin) {
  const Place place;
  make_run(place, "run", {.ranks = 4});
  const auto answer = answer_of(place, "run --communicators sign-vote --plugin " + std::string(SIGN_VOTE));
  ASSERT_EQ(answer.at("trials").size(), 2u);
  EXPECT_EQ(answer.at("trials")[1].at("communicator"), "sign-vote");
  expect_end(64, place.eave("suggest run --communicators sign-vote"), {"'sign-vote' cannot be planned"});
}

TEST(SuggestProgram, refuses_what_no_advice_follows_from) {
  const Place place;
  make_run(place, "a", {});
  make_run(place, "other", {.model = "mlp"});
  make_run(place, "old data", {.data_identity = "0123456789abcdef0123456789abcdef"});
  make_run(place, "new data", {.data_identity = "fedcba9876543210fedcba9876543210"});
  make_run(place, "one", {.ranks = 1});
  make_run(place, "short", {.steps = 5});
  make_run(place, "short own", {.steps = 5, .settings = {{"program", "own.py"}}});
  make_run(place, "none", {.steps = 0});
  make_run(place, "diverged", {.failure = "training diverged: the loss is not finite"});
  place.write("nan/metrics.jsonl", place.read("a/metrics.jsonl") + "{\"type\":\"step\",\"rank\":0,\"step\":NaN}\n");
  place.write("empty/notes", "");
  const auto expect = [&](const std::string& words, int code, const std::string& says) {
    expect_end(code, place.eave("suggest " + words), {says});
  };
  expect("", 64, "no run directory given");
  expect("missing", 66, "missing");
  expect("empty", 66, "empty: holds no run (metrics.jsonl is missing); give the --run-dir of eave train");
  expect("a other", 64, "a and other have different models (lenet, mlp); give runs of one training");
  expect("'old data' 'new data'", 64,
         "old data and new data trained on different data: other files, another part held out, or another vocabulary");
  expect("one", 64, "say how many ranks you could start, such as --ranks 4");
  expect("short", 65,
         "too few steps to plan with: train for 30 or more, and let --log-every write 20 lines of each rank");
  expect("'short own'", 65, "let every of eave.Run write 20 lines of each rank");
  expect("none", 65, "none: metrics.jsonl has too few steps to plan with");
  expect("diverged", 65, "diverged: the run diverged (training diverged: the loss is not finite), and no other run");
  expect("nan", 65, "nan: metrics.jsonl line");
  expect("a --network-rate nan", 64, "--network-rate nan");
  expect("a --bandwidth 1gbit", 64, "did you mean --network-rate");
  expect("a --latency 1ms", 64, "did you mean --network-delay");
  expect("a --communicators asgd", 64, "'asgd' cannot be planned");
  expect("a --bench-comm a/metrics.jsonl", 65, "is no row of a table");
  expect("a --json missing/answer.json", 73, "missing");
}

}  // namespace
}  // namespace eave
