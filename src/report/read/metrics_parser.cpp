#include "report/read/metrics_parser.h"

#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"

namespace eave {
namespace {

HeaderLine header_from(const Json& object) {
  const JsonFields fields(object);
  require_known_format(object, kMetricFormat);
  fields.at("format");
  check_ranges(object, "header");
  HeaderLine header;
  if (object.at("format") == kMetricFormat) header.metric = metric_from(fields.at("metric"));
  header.config = fields.in("config").texts();
  fields.take("communicator", header.communicator);
  fields.take("model", header.model);
  fields.take_if_there("version", header.version);
  fields.take("parameters", header.parameters);
  fields.take("train_samples", header.train_samples);
  fields.take("test_samples", header.test_samples);
  fields.take_if_there("test_labels", header.test_labels);
  fields.take_if_there("tokens_per_sample", header.tokens_per_sample);
  fields.take("classes", header.classes);
  fields.take_if_there("data_identity", header.data_identity);
  fields.take_if_there("initial_identity", header.initial_identity);
  for (const Json& row : fields.list("ranks")) {
    const JsonFields rank(row, "ranks[].");
    HeaderRank& each = header.ranks.emplace_back();
    rank.take("rank", each.rank);
    rank.take_if_there("host", each.host);
    rank.take_if_there("device", each.device);
    rank.take_if_there("cores", each.cores);
    rank.take_if_there("trains", each.trains);
  }
  return header;
}

FailureLine failure_from(const Json& object) {
  check_ranges(object, "failure");
  FailureLine failure;
  const JsonFields fields(object);
  fields.take("code", failure.code);
  fields.take("message", failure.message);
  return failure;
}

LostLines lost_from(const Json& object) {
  check_ranges(object, "lost");
  LostLines lost;
  JsonFields(object).take("lines", lost.lines);
  return lost;
}

}  // namespace

std::string lost_lines_text(std::int64_t lines) {
  return count_text(lines, "line") + " of metrics.jsonl " + (lines == 1 ? "is" : "are") +
         " missing, because the run could not write " + (lines == 1 ? "it" : "them");
}

MetricsLine MetricsParser::parse(std::string_view line) const {
  if (const std::optional<StepLine> step = step_line(line); step && header()) {
    check_ranges(*step);
    return *step;
  }
  const Json object = parse_json(line);
  const JsonFields fields(object);
  if (!header() && !(fields.has("type") && object.at("type") == "header"))
    throw OutOfRange("it is no header, but must be: these are not the metrics of an eave run, or lines are missing");
  const std::string type = fields.text("type");
  if (type == "header") return header_from(object);
  if (type == "step") return step_line(object);
  if (type == "evaluation") return evaluation_from(object);
  if (type == "end") return summary_from(object);
  if (type == "failure") return failure_from(object);
  if (type == "lost") return lost_from(object);
  check_ranges(object, type);
  return OtherLine();
}

MetricsLine MetricsParser::take(std::string_view line) {
  ++number_;
  MetricsLine taken = parse(line);
  std::visit([&](const auto& each) { consistency_.take(each, number_); }, taken);
  return taken;
}

}  // namespace eave
