// The two ends of `eave suggest`: the runs that it reads, and the command lines that it recommends.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/suggest/suggestion.h"

namespace eave {

struct SuggestRuns {
  std::vector<SuggestRun> runs;
  std::size_t basis = 0;              // the run to plan from: the one with most ranks, then with most steps
  std::vector<std::string> left_out;  // sentences: runs of a comparison that cannot be planned from
};

// Each directory is a run's, or holds runs, as the --output of eave compare does. Throws Error: kInputMissing (no run
// there), kBadData (a run cannot be read or has too few steps; no run has trained without diverging), kUsage (runs of
// different models, data or metrics).
SuggestRuns read_suggest_runs(const std::vector<std::filesystem::path>& directories);

// The command that a person types, and, for a program of the person's own, what to change in it.
struct RecommendedLine {
  std::string command;   // "mpirun -np 4 eave train …", "mpirun -np 4 python3 own.py"
  std::string averager;  // "eave.Averager(model, optimizer, "easgd", tau=16)"; "" for eave train
  std::string place;     // on which hosts the ranks run; "" if one host is enough
};

// Repeats the settings of the run that is planned from, with the advised method, ranks and learning rate. What only
// shortened or watched that run is left out. For eave train, the words have been parsed: eave accepts them.
RecommendedLine recommended_line(const SuggestQuestion& question, const Suggestion& suggestion);

// The comparison that would settle the accuracy of suggestion.to_compare; "" if nothing is open.
std::string comparison_line(const SuggestQuestion& question, const Suggestion& suggestion);

}  // namespace eave
