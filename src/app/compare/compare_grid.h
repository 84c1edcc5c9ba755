// Lists the runs of a comparison, and the options of each. Reads them from the options of `eave compare`.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/main/command_line.h"
#include "eave/options.h"

namespace eave {

using Settings = std::vector<std::pair<std::string, std::string>>;  // names of options with their values
bool has_setting(const Settings& settings, const std::string& name);

// A communicator and its options: "easgd:tau=10".
struct Method {
  std::string communicator;
  Settings options;
  std::string label() const;  // "easgd tau=10"
};

// The runs of one method with one number of ranks and one batch. They differ in learning rate and seed.
struct RunGroup {
  Method method;
  int ranks = 1;
  std::string batch;               // "" if a program of one's own chooses it
  std::vector<std::string> rates;  // "" means train's default
  std::string label() const;       // "easgd tau=10, 4 ranks, batch 32"
};

struct Cell {
  std::size_t group = 0;
  std::string rate;
  int seed = 1;
  std::string name;   // of the run's directory
  std::string label;  // for people
};

struct Grid {
  std::vector<RunGroup> groups;
  int seeds = 1;
  Settings settings;  // common to all runs

  // The runs of every group at each of its rates, with the first seed.
  std::vector<Cell> first_cells() const;
  // The runs with the other seeds, at the rate chosen for each group. nullptr: no rate was chosen, so that group has
  // none.
  std::vector<Cell> further_cells(const std::vector<const std::string*>& chosen) const;
  std::size_t count() const;  // number of all cells, if a rate is chosen for each group
  bool tunes() const;         // whether a group has several rates
  // Whether two groups differ in one of tuned_options() and in nothing else: easgd:tau=4,easgd:tau=16.
  bool varies() const;

  Cell cell(std::size_t group, const std::string& rate, int seed) const;
  // The words of an `eave train` command for this run.
  std::vector<std::string> words_of(const Cell& cell) const;
};

// The settings in force of each run, with what they do not contain: the number of ranks.
struct CellSettings {
  std::string label;  // of its group
  int ranks = 1;
  std::map<std::string, std::string> in_force;
};
// Throws Error(kUsage) if two runs have equal settings, so that one method is named twice: easgd,easgd:tau=10.
void refuse_equal_runs(const std::vector<CellSettings>& cells);

OptionSpec program_option();  // --program, which only the command line may give
std::vector<OptionSpec> compare_options();

// The words of compare's own options, and all other words, which are options of train.
struct ComparedWords {
  std::vector<std::string> own;
  Settings of_train;
};
ComparedWords split_words(const std::vector<std::string>& words);

// Takes or refuses the options of eave train that --config and EAVE_* variables give to a comparison (each run reads
// the others by itself). `given`: the options of train from all places, as CommandLine::read returns them. Adds to
// `own` and `of_train` what the comparison itself acts on: --batch, --ranks, --transport and --progress. Throws
// Error(kUsage).
void take_other_sources(const OptionValues& given, OptionValues& own, Settings& of_train);

// Ten evaluations, unless the person says when to evaluate. All but the last score the consensus only: scoring each
// worker on the whole test set would take longer than many a short training.
std::vector<std::string> words_of_evaluations(const OptionValues& of_run);

inline constexpr const char* kUsualShare = "0.1";  // of the training set, held out to choose learning rates
// Makes the grid for a job of `ranks_of_job` ranks. Every comparison contains one rank alone, and `allreduce`.
// `share`: --validation-share of runs from which a learning rate is chosen, unless `of_train` has it. Throws
// Error(kUsage).
Grid read_grid(const OptionValues& own, const Settings& of_train, int ranks_of_job,
               const std::string& share = kUsualShare);
// The options of eave train that end a run: "epochs", "max-steps", ….
const std::set<std::string>& options_of_length();
// The options of checkpoints, which a comparison does not save.
const std::set<std::string>& options_of_checkpoints();
// --budget without blanks, "time=60s"; "" if it is not given. Throws Error(kUsage).
std::string budget_of(const OptionValues& own);
// If --budget is given, no other option may end a run, wherever that option comes from. Throws Error(kUsage).
void require_budget_alone(const std::string& budget, const OptionValues& of_run);
// The largest number in --ranks; 0 if it is not given.
int most_ranks(const OptionValues& own);

}  // namespace eave
