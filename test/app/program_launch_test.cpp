// Tests how `eave compare --program` starts ranks: the command lines of mpirun, srun and torchrun, as text.
#include "app/compare/program_launch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "app/compare/program_process.h"
#include "app/compare/program_runs.h"
#include "app/main/command_line.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

OptionValues compared(const Words& words) {
  CommandLine line("usage");
  line.add_group("What is compared", compare_options());
  const char* const no_environment[] = {nullptr};
  return line.parse(words, no_environment);
}

LaunchPlace place_with(const std::set<std::string>& programs,
                       const std::map<std::string, std::string>& variables = {}) {
  return {[=](const char* name) { return variables.contains(name) ? variables.at(name) : ""; },
          [=](const std::string& program) { return programs.contains(program); }};
}

const std::set<std::string> kAll = {"mpirun", "srun", "torchrun", "/opt/mpi/bin/mpiexec.hydra"};

std::string command(const std::string& launcher, int ranks, const LaunchPlace& place = place_with(kAll)) {
  const OptionValues own = compared({"--launcher", launcher, "--program", "python3 train.py --data 'my data'"});
  return shell_text(launch_command(read_launcher(own, place), ranks, {{"A", "1"}, {"B", "easgd tau=10"}},
                                   words_of_command(own, "program"), place));
}

const std::string kProgram = " env A=1 'B=easgd tau=10' python3 train.py --data 'my data'";

TEST(ProgramLaunch, has_the_words_of_each_launcher) {
  EXPECT_EQ(command("mpirun", 2), "mpirun -np 2" + kProgram);
  EXPECT_EQ(command("srun", 4), "srun -n 4 --mpi=pmix --kill-on-bad-exit=1" + kProgram);
  EXPECT_EQ(command("torchrun", 3), "torchrun --nproc-per-node=3 --standalone --no-python" + kProgram);
}

TEST(ProgramLaunch, passes_on_options_of_a_launcher_in_place_of_its_own) {
  EXPECT_EQ(command("/opt/mpi/bin/mpiexec.hydra -f hosts", 2), "/opt/mpi/bin/mpiexec.hydra -np 2 -f hosts" + kProgram);
  EXPECT_EQ(command("srun --mpi=pmi2", 2, place_with(kAll, {{"SLURM_CPUS_PER_TASK", "3"}})),
            "srun -n 2 --kill-on-bad-exit=1 --cpus-per-task=3 --mpi=pmi2" + kProgram);
  EXPECT_EQ(command("torchrun --nnodes=2 --rdzv-endpoint=a:1", 2),
            "torchrun --nproc-per-node=2 --no-python --nnodes=2 --rdzv-endpoint=a:1" + kProgram);
}

TEST(ProgramLaunch, takes_the_launcher_that_fits_the_environment) {
  const auto first = [](const LaunchPlace& place) { return command("auto", 2, place).substr(0, 4); };
  EXPECT_EQ(first(place_with(kAll)), "mpir");
  EXPECT_EQ(first(place_with(kAll, {{"SLURM_JOB_ID", "7"}})), "srun");
  EXPECT_EQ(first(place_with({"mpirun"}, {{"SLURM_JOB_ID", "7"}})), "mpir");
  EXPECT_EQ(first(place_with({"torchrun"})), "torc");
  expect_error(ExitCode::kPeerLost, "none is on PATH", [&] { first(place_with({})); });
}

TEST(ProgramLaunch, refuses_what_is_no_launcher_or_not_there) {
  expect_error(ExitCode::kUsage, "expected auto, mpirun, srun or torchrun", [] { command("ssh", 2); });
  expect_error(ExitCode::kUsage, "expected auto, mpirun, srun or torchrun", [] { command("auto -v", 2); });
  expect_error(ExitCode::kPeerLost, "--launcher srun is not on PATH", [] { command("srun", 2, place_with({})); });
  for (const std::string words : {" '' ", "train.py 'a", "train.py \\"})
    expect_error(ExitCode::kUsage, "--program", [&] { words_of_command(compared({"--program", words}), "program"); });
}

TEST(ProgramLaunch, splits_a_command_as_a_shell_does) {
  const auto words = [](const std::string& text) { return words_of_command(compared({"--program", text}), "program"); };
  EXPECT_EQ(words(R"(python3  -c 'a\d+\n "b"' x\ y)"), (Words{"python3", "-c", R"(a\d+\n "b")", "x y"}));
  EXPECT_EQ(words(R"(a"b \"c\d"'e'f)"), (Words{R"(ab "c\def)"}));
}

TEST(ProgramLaunch, text_can_be_typed_into_a_shell) {
  EXPECT_EQ(shell_text({"a-b.c/d", "", "$x", "it's"}), "a-b.c/d '' '$x' 'it'\\''s'");
}

TEST(ProgramGrid, tells_each_run_its_method_seed_rate_and_length) {
  const OptionValues own = compared({"--program", "p", "--communicators", "easgd:tau=3", "--ranks", "2", "--lr",
                                     "0.1,0.3", "--seeds", "2", "--budget", "time=2m", "--output", "/x/out"});
  const Grid grid = read_program_grid(own, {});
  EXPECT_EQ(grid.groups.size(), 3u) << "one rank, allreduce and easgd";
  const std::vector<Cell> cells = grid.first_cells();
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_EQ(cells.back().label, "easgd tau=3, 2 ranks, lr 0.3, seed 1");
  EXPECT_EQ(variables_of_run(grid, cells.back(), own), (Settings{{"EAVE_RUN_DIR", "/x/out/easgd-tau-3-p2-lr0.3-seed1"},
                                                                 {"EAVE_PROGRAM_COMMUNICATOR", "easgd tau=3"},
                                                                 {"EAVE_PROGRAM_SEED", "1"},
                                                                 {"EAVE_PROGRAM_LR", "0.3"},
                                                                 {"EAVE_PROGRAM_SECONDS", "120"}}));
  EXPECT_EQ(variables_of_run(grid, cells.front(), own)[1].second, "none");
}

TEST(ProgramGrid, leaves_to_the_program_what_is_not_given) {
  const OptionValues own = compared({"--program", "p", "--budget", "steps=600", "--batch", "8"});
  const Grid grid = read_program_grid(own, {});
  const Settings variables = variables_of_run(grid, grid.first_cells().back(), own);
  EXPECT_EQ(Settings(variables.begin() + 1, variables.end()), (Settings{{"EAVE_PROGRAM_COMMUNICATOR", "easgd"},
                                                                        {"EAVE_PROGRAM_SEED", "1"},
                                                                        {"EAVE_PROGRAM_BATCH", "8"},
                                                                        {"EAVE_PROGRAM_STEPS", "600"}}));
  EXPECT_EQ(read_program_grid(compared({"--program", "p"}), {}).first_cells().back().label, "easgd, 2 ranks, seed 1");
}

TEST(ProgramGrid, refuses_what_the_program_would_not_obey) {
  const auto refusal = [](const Words& more, const Settings& of_train = {}) {
    Words words = {"--program", "p"};
    words.insert(words.end(), more.begin(), more.end());
    return refusal_by([&] { read_program_grid(compared(words), of_train); });
  };
  expect_parts(refusal({}, {{"momentum", "0.9"}}), {"64 --momentum is an option of eave train"});
  expect_parts(refusal({"--budget", "epochs=3"}), {"expected steps=600 or time=60s"});
  expect_parts(refusal({"--communicators", "easgd:tauu=3"}), {"easgd tauu=3, 2 ranks: ", "did you mean --tau?"});
  expect_parts(refusal({"--communicators", "easgd:epochs=3"}), {"64 ", "epochs=3 is no option of easgd in a program"});
  expect_parts(refusal({"--communicators", "easgd:model=lenet"}), {"model=lenet is no option of easgd"});
  expect_parts(refusal({"--communicators", "gossip:replica-hash-every=5"}), {"--replica-hash-every 5", "no effect"});
  EXPECT_EQ(refusal({"--communicators", "easgd:compression=top-k:top-k-share=0.1:limit-step=1min:tau=3"}), "accepted");
  expect_parts(refusal({"--lr", "0.1,much"}), {"--lr"});
  expect_parts(refusal({"--side-by-side", "off"}), {"--side-by-side", "has no effect with --program"});
  expect_parts(refusal({"--ranks", "1", "--communicators", "easgd"}), {"give --ranks 2"});
}

TEST(ProgramProcess, appends_output_to_the_log_and_returns_the_code) {
  const TemporaryDirectory directory;
  const std::filesystem::path log = directory.path() / "log";
  std::ofstream(log) << "first\n";
  const std::vector<const char*> environment = {"WHAT=seen", nullptr};
  const auto run = [&](
                       const Words& words, const std::function<bool()>& should_end = [] { return false; }) {
    return run_logged(words, environment, log, should_end);
  };
  EXPECT_EQ(run({"/bin/sh", "-c", "echo $WHAT; echo error >&2; cat; exit 3"}).code, 3);
  EXPECT_EQ(run({"/no/such/program"}).code, 127);
  expect_parts(tail_of(log, 1000), {"first\nseen\nerror\n/no/such/program: cannot be started: No such file"});
  const ProcessEnd ended =
      run({"/bin/sh", "-c", "echo ended; while :; do :; done"}, [&] { return tail_of(log, 6) == "ended\n"; });
  EXPECT_TRUE(ended.was_ended);
  EXPECT_EQ(ended.code, 128 + SIGTERM);
}

TEST(ProgramProcess, returns_the_code_though_the_one_who_started_eave_ignores_sigchld) {
  const TemporaryDirectory directory;
  const std::filesystem::path log = directory.path() / "log";
  std::ofstream(log) << "";
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_logged({"/bin/sh", "-c", "exit 3"}, {nullptr}, log, [] { return false; }).code, 3);
}

TEST(ProgramProcess, last_lines_leave_out_what_mpirun_says_of_any_failure) {
  const std::string rule(74, '-');
  EXPECT_EQ(last_lines("a\n\n  b\n" + rule + "\nmpirun detected that processes exited with non-zero status\n" + rule +
                           "\n" + rule + "\nno such host\n" + rule + "\n",
                       9),
            (Words{"a", "  b", "no such host"}));
  EXPECT_EQ(last_lines("a\nno newline" + rule + "\nPrimary job  terminated normally\n" + rule + "\n", 5),
            (Words{"a", "no newline"}));
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), (Words{"b", "c"}));
}

TEST(ProgramProcess, last_lines_leave_out_what_torchrun_says_of_any_failure) {
  const std::string said =
      "E1201 05:08:54.156000 16892 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 64) "
      "local_rank: 0 (pid: 17379) of binary: env\nTraceback (most recent call last):\n  File \"torchrun\", line 8\n";
  EXPECT_EQ(last_lines("Traceback (most recent call last):\neave.Error: why\n" + said, 12),
            (Words{"Traceback (most recent call last):", "eave.Error: why"}));
  EXPECT_EQ(last_lines(said, 12), Words{});
  EXPECT_EQ(last_lines("a job] failed (exitcode: 1)\nwhy\n" + said, 12), (Words{"a job] failed (exitcode: 1)", "why"}));
  EXPECT_EQ(last_lines("first\n" + said.substr(0, said.find('\n') + 1) + "second attempt\n" + said, 1),
            Words{"second attempt"});
  EXPECT_EQ(last_lines("[step 3] failed (exitcode: 1)\nb\n", 12), (Words{"[step 3] failed (exitcode: 1)", "b"}));
}

}  // namespace
}  // namespace eave
