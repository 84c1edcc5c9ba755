// Tests what `eave compare` refuses: options, values of methods, and directories that hold other runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "test/program/commands/compare_grid.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

void remove_from_header(const Place& place, const std::string& run, const std::string& field) {
  const std::string metrics = place.read(run + "/metrics.jsonl");
  const std::size_t end = metrics.find('\n');
  nlohmann::json header = nlohmann::json::parse(metrics.substr(0, end));
  header.erase(field);
  place.write(run + "/metrics.jsonl", header.dump() + metrics.substr(end));
}

TEST(Compare, refuses_to_keep_runs_that_began_from_other_data) {
  const Place place;
  place.write("a.txt", "abcdefgh abcdefgh abcdefgh " + std::string(2000, 'x'));
  place.write("b.txt", "abcdefgh abcdefgh abcdefgi " + std::string(2000, 'x'));
  const std::string words =
      "compare --data text --vocabulary bytes --context 16 --batch 8 --optimizer adamw --lr 0.01 --seeds 1 --budget "
      "epochs=1 --output all --transport threads --model 'embedding 8 positions 16; layer_norm; linear 256' ";
  expect_end(0, place.eave(words + "--communicators easgd:tau=2 --data-dir a.txt"));
  const std::string more = words + "--communicators easgd:tau=2,local-sgd:tau=2 --data-dir ";
  expect_end(78, place.eave(more + "b.txt"), {"all/", "other data: the text", "another directory"});
  place.write("c.txt", place.read("a.txt"));
  expect_output(0, place.eave(more + "c.txt"), {"3 of 4 runs were done before"});
  place.write("c.txt", place.read("b.txt"));
  expect_end(78, place.eave(more + "c.txt"), {"other data"});
  for (const auto& run : fs::directory_iterator(place.path() / "all"))
    if (run.is_directory()) remove_from_header(place, "all/" + run.path().filename().string(), "data_identity");
  expect_output(0, place.eave(more + "c.txt"), {"4 of 4 runs were done before"});
}

TEST(Compare, refuses_to_keep_runs_that_began_from_other_parameters) {
  const Place place;
  for (const std::string seed : {"1", "2"})
    expect_end(0, place.eave(quick("--max-steps 1 --progress off --run-dir run" + seed + " --seed " + seed)));
  place.write("start", place.read("run1/model.safetensors"));
  const std::string words = "compare --communicators easgd:tau=2 --seeds 1 --output all --transport threads " +
                            std::string(kQuick) + " --initial-parameters start";
  expect_end(0, place.eave(words));
  expect_output(0, place.eave(words), {"3 of 3 runs were done before"});
  place.write("start", place.read("run2/model.safetensors"));
  expect_end(78, place.eave(words), {"other parameters: the content of --initial-parameters start has changed"});
}

// The crop is larger than the images, which only the first run finds.
TEST(Compare, that_was_refused_before_its_first_run_does_not_bind_the_next) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  expect_end(78, place.eave(words + "--crop 12"), {"does not fit into images"});
  expect_end(0, place.eave(words));
  expect_end(78, place.eave(words + "--crop 6"), {"--crop"});
}

TEST(Compare, refuses_options_of_train_that_it_would_ignore) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  for (const std::string option :
       {"communicator = easgd", "seed = 3", "run-dir = mine", "overwrite = on", "resume = auto", "print-config = on",
        "checkpoint = on", "allow-changed-plugin = on"}) {
    const std::string name = option.substr(0, option.find(' '));
    place.write("train.ini", option + "\n");
    expect_end(64, place.eave(words + "--config train.ini"), {"--" + name, "(file train.ini)"});
    EXPECT_FALSE(fs::exists(place.path() / "all")) << option;
  }
  expect_end(64, place.eave(words, {0, "EAVE_SEED=3"}), {"--seed 3 (environment EAVE_SEED)"});
  for (const std::string more :
       {"--print-config", "--checkpoint on", "--keep 2", "--limit-checkpoint 1m", "--require-checkpoint off"})
    expect_end(64, place.eave(words + more), {more.substr(0, more.find(' '))});
  expect_end(64, place.eave(words + "--meet here:1"), {"--meet"});
  place.write("train.ini", "max-samples = 9\n");
  const std::string budget = "compare --communicators easgd --batch 8 --ranks 2 --transport threads --data synthetic ";
  for (const std::string more : {"samples=100", "epochs=1"})
    expect_end(64, place.eave(budget + "--config train.ini --budget " + more),
               {"--budget " + more + " contradicts --max-samples (file train.ini)"});
  expect_end(64, place.eave(budget + "--budget samples=100", {0, "EAVE_EPOCHS=2"}), {"contradicts --epochs"});
}

TEST(Compare, refuses_a_directory_of_others) {
  const Place place;
  fs::create_directory(place.path() / "all");
  place.write("all/report.html", "somebody's");
  expect_end(73, place.eave(grid("--ranks 2 --seeds 1 --transport threads")));
  EXPECT_EQ(place.read("all/report.html"), "somebody's");
}

TEST(Compare, of_a_dry_run_refuses_what_the_runs_refuse_and_nothing_else) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  for (const std::string more :
       {"--stop-at-accuracy 0.1", "--checkpoint off", "--trace", "--tensorboard", "--evaluations 3",
        "--evaluations 3 --evaluate-workers off", "--evaluate-every 0.5 --stop-at-loss 0.1"}) {
    expect_end(0, place.eave(words + more + " --dry-run"));
    EXPECT_FALSE(fs::exists(place.path() / "all")) << more;
    expect_end(0, place.eave(words + more));
    fs::remove_all(place.path() / "all");
  }
  for (const auto& [more, code] : {std::pair("--notes nosuch", 66), std::pair("--stop-at-loss 1 --evaluations 1", 64),
                                   std::pair("--keep 2", 64)}) {
    expect_end(code, place.eave(words + more + " --dry-run"));
    expect_end(code, place.eave(words + more));
    fs::remove_all(place.path() / "all");
  }
}

// The method comes last, after the runs of one rank and of allreduce.
TEST(Compare, refuses_values_that_a_method_does_not_take_before_the_first_run) {
  const Place place;
  for (const std::string method : {"easgd:tau=0", "easgd:alpha=0", "easgd:beta=-1", "easgd-tree:groups=7",
                                   "slowmo:slowmo-momentum=1.5", "bmuf:block-momentum=2", "diloco:outer-rate=0",
                                   "easgd-async:pull-delay=20", "gossip:alpha=2", "mvasgd:average-rate=3"}) {
    const std::string words = grid("--ranks 2 --seeds 1 --transport threads --communicators " + method);
    const std::string option = method.substr(method.find(':') + 1, method.find('=') - method.find(':') - 1);
    for (const std::string more : {"", " --dry-run"}) {
      const Ended ended = expect_end(64, place.eave(words + more), {option});
      EXPECT_EQ(ended.output, "") << method;
      EXPECT_FALSE(fs::exists(place.path() / "all")) << method;
    }
  }
}

TEST(Compare, refuses_options_that_do_not_go_with_a_method_before_the_first_run) {
  const Place place;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--communicators easgd-async --ema-decay 0.9", "--ema-decay 0.9 (command line): the ranks of"},
      {"--communicators easgd:batch-means=total --batch 7", "--batch 7 --batch-means total cannot be divided"},
      {"--communicators gossip --replica-hash-every 5", "--replica-hash-every 5 (command line): has no effect"},
      {"--communicators easgd:momentum=2", "--momentum 2"},
      {"--communicators easgd:on-nonfinite=rollback", "--on-nonfinite rollback"},
      {"--communicators easgd:clip-norm=-1", "--clip-norm -1"},
      {"--communicators easgd:accumulate=9", "--accumulate 9"},
      {"--limit-step 0.5s", "--limit-step 0.5s"},
      {"--communicators easgd:limit-setup=0.5s", "--limit-setup 0.5s"},
      {"--communicators none --stop-after-bytes 1GB", "none sends nothing"},
      {"--communicators allreduce:lr-scaling=linear:batch-means=total", "has no effect with --batch-means total"},
      {"--communicators allreduce:on-drop=reset-to-center", "--on-drop reset-to-center has no effect"},
      {"--communicators allreduce:reproducible=on:micro-batches=4:accumulate=2", "--accumulate 2"}};
  for (const auto& [more, says] : cases) {
    const Ended ended = expect_end(64, place.eave(grid("--ranks 2 --seeds 1 --transport threads ") + more), {says});
    EXPECT_EQ(ended.output, "") << more;
    EXPECT_FALSE(fs::exists(place.path() / "all")) << more;
  }
}

TEST(Compare, refuses_wrong_options_before_the_first_run) {
  const Place place;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--tau 10 --transport threads", "--communicators easgd:tau=10"},
      {"--ranks 8", "mpirun -np 8"},
      {"--lr 0.05,1e9 --transport threads", "--lr"},
      {"--communicators easgd-async:center-ranks=2 --ranks 2 --transport threads", "center-ranks"},
      {"--modle lenet --transport threads", "did you mean --model"},
      {"--communicators easgt --transport threads", "easgt"},
      {"--communicators easgd:tau=10,easgd --transport threads", "names easgd twice with the same settings"},
      {"--lr-scaling linear --transport threads", "behind its name: --communicators"},
      {"--ranks 2 --slow-rank 1:2 --transport threads", "--slow-rank 1:2: expected RANK:FACTORx"},
      {"--ranks 2 --slow-rank 5:2x --transport threads", "with a rank below 2"}};
  for (const auto& [words, text] : cases) {
    expect_end(64, place.eave(grid(words)), {text});
    EXPECT_FALSE(fs::exists(place.path() / "all"));
  }
}

}  // namespace
}  // namespace eave
