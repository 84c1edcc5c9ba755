// Compares the methods on the ranks that a person has: how fast each trains, as planned from a run or measured by one,
// and what the runs say about its models.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/plan/plan_text.h"
#include "report/record/run_record.h"

namespace eave {

struct SuggestRun {
  std::string name;  // its directory
  RunRecord record;
  std::optional<PlanRun> plan;                      // nothing if it diverged or failed
  std::map<std::string, std::string> options = {};  // of its method, as PlanMethod::options
  std::string waits_with = "";                      // as PlanMethod::waits_with
};

// How far a plan is from a run: planned / measured - 1, in samples per second.
struct PlanError {
  double error = 0;
  std::string run;  // its directory
};

// Whether the run had this method: its tau and global-tau, if it has them, and its options.
bool has_method(const PlanMethod& method, const SuggestRun& run);

// One method with one tau and one value of each option.
struct Trial {
  PlanMethod method = {};
  double samples_per_second = 0;  // of all ranks
  double step_seconds = 0;
  double straggling_share = 0;  // of a step: waiting for slower ranks
  double exchange_share = 0;    // of a step: waiting for exchanges
  double error = 0;             // relative error of samples_per_second that must be expected
  PlanError of_run = {};        // the run whose plan tells most about this one; the error is 0 if none does
  std::string source = "";      // "planned from runs/a", "measured by runs/b"
  bool is_measured = false;
  std::size_t measured_by = 0;  // the index of that run
  // The method's score in its runs, larger is better; nothing if it has none.
  std::optional<double> goodness = {};
  std::string why_not = "";  // what in the runs speaks against it; "" if nothing does

  double waiting_share() const { return straggling_share + exchange_share; }
  // samples_per_second if this plan is as much too fast as that of the run.
  double corrected() const { return samples_per_second / (1 + std::max(of_run.error, 0.0)); }
};

struct SuggestQuestion {
  PlanReport report;  // the run that is planned from, and the network
  std::vector<SuggestRun> runs;
  std::size_t basis = 0;             // index of that run
  PlanNetwork network_of_runs = {};  // report.network, unless a figure of another network was given
  bool is_network_given = false;     // a figure of the network was given, though perhaps that of the runs
  int ranks = 2;
  std::vector<PlanMethod> methods;  // `allreduce` first; a method with tau occurs with each tau that may be advised
};

// The plan that is farthest from its run, among the runs of several ranks. All plans are made from the same run.
PlanError worst_plan(const SuggestQuestion& question);

// A run whose ranks waited for each exchange tells only how good the model is: the advised command does not wait.
//
// A trial of each method, in the order of question.methods. If a run has measured the same method with as many ranks on
// the network in question, the trial has that run's figures. A plan is as uncertain as the plans of runs that
// exchange alike; if no run does, as the worst plan.
std::vector<Trial> trials_of(const SuggestQuestion& question);

// Samples per second of one rank: as a run of one rank measured it, else by the computing of the fastest rank of the
// run that is planned from.
struct AloneRate {
  double samples_per_second = 0;
  std::string source;
};
AloneRate alone_rate(const SuggestQuestion& question);

// The rank that computes longest, and how many times as long as the median of the other workers.
struct SlowestRank {
  int rank = 0;
  double factor = 1;
};
SlowestRank slowest_rank(const PlanRun& run);

// The measurements that runs made of a method's models.
struct Quality {
  bool is_known = false;  // runs of the method and of allreduce can be compared
  std::string sentence;   // "local-sgd, tau 16: 86.10 % …, allreduce: 86.02 % …"; "" if not known
  std::string why_not;    // the reason not to advise the method; "" if there is none
  bool is_one_seed_each = false;
  std::optional<double> goodness = {};  // the mean score at the best rate, larger is better
  std::string best_rate;                // the best learning rate of the method's runs, if they tried several; else ""
  std::vector<std::string> diverged_rates;  // other rates at which a run of the method diverged, ascending
};

// Compares finished runs of the method (with its tau and options) with those of allreduce, among runs of as many ranks
// that saw equally many samples in batches of the size in question. A method is spoken against if its runs ended below
// those of allreduce by more than a point (one hundredth of another metric), unless several seeds of both leave it
// open. It is also spoken against if a run of it with the ranks in question diverged at its best rate, or at any rate
// if none of these runs finished.
Quality quality_of(const SuggestQuestion& question, const PlanMethod& method);

}  // namespace eave
