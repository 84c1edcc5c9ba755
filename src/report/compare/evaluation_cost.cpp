#include "report/compare/evaluation_cost.h"

#include <algorithm>

#include "base/options/quantities.h"

namespace eave {
namespace {

constexpr double kLeastShare = 0.01;

std::string percent_of(double share) { return decimal_text(100 * share, 1); }

}  // namespace

std::string evaluation_cost(const std::vector<RunRecord>& runs) {
  double training = 0, evaluating = 0, least = 1, most = 0;
  for (const RunRecord& run : runs) {
    if (run.end != RunEnd::kFinished || !run.summary) continue;
    double seconds = 0;
    for (const EvaluationPoint& point : run.evaluations) seconds += point.record.evaluation_seconds;
    training += run.summary->seconds;
    evaluating += seconds;
    const double whole = run.summary->seconds + seconds, share = whole > 0 ? seconds / whole : 0;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  if (evaluating <= 0 || evaluating < kLeastShare * (training + evaluating)) return "";
  const std::string range = percent_of(least) == percent_of(most)
                                ? ""
                                : " (" + percent_of(least) + " to " + percent_of(most) + " % of a run)";
  return "Evaluations took " + decimal_text(evaluating, 1) + " s besides, " +
         percent_of(evaluating / (training + evaluating)) + " % of the whole time" + range + ".";
}

}  // namespace eave
