#include "report/record/metric.h"

#include <cmath>

#include "base/printable.h"
#include "report/read/field_checks.h"
#include "report/record/json_fields.h"
#include "report/text/terminal.h"

namespace eave {

bool is_recordable(double value) { return std::abs(value) <= kMostReal; }

bool is_accuracy(const Metric& metric) { return metric == Metric{}; }

bool is_as_good(const Metric& metric, double value, double other) {
  return metric.lower_is_better ? value <= other : value >= other;
}

double goodness(const Metric& metric, double value) { return metric.lower_is_better ? -value : value; }

std::string score_text(const Metric& metric, double value) {
  return is_accuracy(metric) ? format("%.2f %%", 100 * value) : format("%.4g", value);
}

std::string named_score(const Metric& metric, double value) {
  return printable(metric.name) + " " + score_text(metric, value);
}

Json loss_to_json(double loss) { return is_recordable(loss) ? Json(loss) : Json(nullptr); }

Json to_json(const Metric& metric) {
  return {{"name", metric.name}, {"better", metric.lower_is_better ? "lower" : "higher"}};
}

Metric metric_from(const Json& object) {
  const JsonFields fields(object, "metric.");
  Metric metric{fields.text("name"), false};
  const std::string better = fields.text("better");
  if (better != "lower" && better != "higher")
    throw OutOfRange("metric.better is '" + better.substr(0, 80) + "', but must be 'lower' or 'higher'");
  metric.lower_is_better = better == "lower";
  return metric;
}

}  // namespace eave
