// Ranks the methods of a comparison by each measure. Sentences, stars and tables read these rankings and nothing else.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/compare/significance.h"
#include "report/compare/variants.h"

namespace eave {

struct Comparison;

enum class Measure { kScore, kSeconds, kSamplesPerSecond, kBytes, kSecondsToTarget, kSamplesToTarget, kBytesToTarget };

// Why no method is said to be first, whatever the values.
enum class Bar {
  kNone,
  kLostRuns,          // a run of the best method diverged or failed, so its mean is that of those that did well
  kCopies,            // some method's runs are copies of one another (copies.h)
  kOneEvaluation,     // some method's run was evaluated once
  kDifferentBudgets,  // scores at the ends of runs of different length
  kStoppedAtScore,    // runs ended when they had a score (--stop-at-accuracy, --stop-at-loss)
  kFixedByBudget,     // the budget gave all runs the same seconds or bytes (--stop-after-time, --stop-after-bytes)
  kTooCoarse,         // a method reached the target at an unknown time before its first evaluation
};

struct MeasuredRanking {
  Bar bar = Bar::kNone;
  Ranking ranking;  // its indices are those of MethodCell::variants
  bool has_first() const { return bar == Bar::kNone && ranking.has_first(); }
};

// Chosen variants with the same place, number of ranks and batch per rank, which are compared with each other.
struct MethodCell {
  std::vector<std::size_t> variants;  // indices
  std::string budget;                 // "after 5 epochs": shared by all; "" if they share none
  std::map<Measure, MeasuredRanking> by;
};

enum class Standing {
  kNone,    // nothing can be said
  kFirst,   // apart from every other method
  kTied,    // the best, or not apart from it
  kBehind,  // apart from the best
};

// The cells with two variants or more, most ranks first. The variants must be measured.
std::vector<MethodCell> rank_cells(const Comparison& comparison);

// "640 samples"; of text "40960 tokens".
std::string samples_text(const Comparison& comparison, double samples);

// How the variant with this index stands by a measure within its cell.
Standing standing_of(const Comparison& comparison, std::size_t variant, Measure measure);

// The name of an estimate of a variant in the page's data, and its measure.
struct NamedMeasure {
  const char* name;
  Measure measure;
  std::optional<Estimate> Variant::*value;
};
const std::vector<NamedMeasure>& named_measures();

}  // namespace eave
