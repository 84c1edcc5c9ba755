#include "report/record/summary.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/formats/strict_json.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/read/field_checks.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"
#include "report/text/text_table.h"

namespace eave {
namespace {

const char* field_of(const Metric& metric) { return is_accuracy(metric) ? "accuracy" : "score"; }

Json score_to_json(const Metric& metric, const ModelScore& score) {
  return {{"loss", loss_to_json(score.loss)}, {field_of(metric), score.accuracy}};
}

// JSON has no NaN: null stands for it.
ModelScore score_from(const Metric& metric, const JsonFields& fields) {
  return {fields.number_or_nan("loss"), fields.number(field_of(metric))};
}

}  // namespace

EvaluationRecord evaluation_from(const Json& object) {
  check_ranges(object, "evaluation");
  const JsonFields fields(object);
  EvaluationRecord record;
  fields.take("step", record.step);
  fields.take("samples", record.samples);
  fields.take("epoch", record.epoch);
  fields.take("seconds", record.seconds);
  fields.take("evaluation_seconds", record.evaluation_seconds);
  if (fields.has("metric")) record.metric = metric_from(fields.at("metric"));
  const auto score_in = [&](const JsonFields& model) { return score_from(record.metric, model); };
  record.center = score_in(fields.in("center"));
  if (fields.has("mean_of_workers")) {
    const JsonFields best = fields.in("best_worker");
    record.workers =
        WorkerScores{score_in(fields.in("mean_of_workers")), score_in(fields.in("first_worker")), score_in(best)};
    best.take("rank", record.workers->best_rank);
  }
  if (fields.has("validation")) record.validation = score_in(fields.in("validation"));
  if (fields.has("ema")) record.ema = score_in(fields.in("ema"));
  if (fields.has("bits_per_byte")) record.bits_per_byte = fields.number("bits_per_byte");
  const JsonFields distance = fields.in("consensus_distance");
  distance.take("min", record.distance_min);
  distance.take("mean", record.distance_mean);
  distance.take("max", record.distance_max);
  require_consistent(record);
  return record;
}

Json to_json(const RankTimes& times, std::size_t rank) {
  return {{"rank", rank},
          {"computing", times.computing},
          {"loading", times.loading},
          {"exchanging", times.exchanging},
          {"waiting", times.waiting},
          {"waiting_for_ranks", times.waiting_for_ranks},
          {"times_waited_for", times.times_waited_for},
          {"seconds_waited_for", times.seconds_waited_for}};
}

Json to_json(const std::vector<RankTimes>& ranks) {
  Json rows = Json::array();
  for (const RankTimes& times : ranks) rows.push_back(to_json(times, rows.size()));
  return rows;
}

RankTimes times_from(const JsonFields& fields) {
  RankTimes times;
  fields.take("computing", times.computing);
  fields.take("loading", times.loading);
  fields.take("exchanging", times.exchanging);
  fields.take("waiting", times.waiting);
  fields.take("waiting_for_ranks", times.waiting_for_ranks);
  fields.take("times_waited_for", times.times_waited_for);
  fields.take("seconds_waited_for", times.seconds_waited_for);
  return times;
}

// Rows stand in the order of ranks.
std::vector<RankTimes> times_in(const Json& rows) {
  std::vector<RankTimes> times;
  for (const Json& row : rows) {
    const JsonFields fields(row, "times_of_ranks[].");
    std::int64_t rank = -1;
    fields.take("rank", rank);
    if (rank != std::ssize(times)) {
      throw Contradiction("times_of_ranks[].rank is " + std::to_string(rank) + ", but must be " +
                          std::to_string(times.size()) + ": rows stand in the order of ranks");
    }
    times.push_back(times_from(fields));
  }
  return times;
}

RunSummary summary_from(const Json& object) {
  require_known_format(object, kMetricFormat);
  check_ranges(object, "summary.json");
  const JsonFields fields(object);
  RunSummary summary;
  fields.take("communicator", summary.communicator);
  fields.take("model", summary.model);
  fields.take("data", summary.data);
  fields.take("ranks", summary.ranks);
  summary.workers = summary.ranks;
  fields.take_if_there("workers", summary.workers);
  fields.take("steps", summary.steps);
  fields.take("epochs", summary.epochs);
  fields.take("samples", summary.samples);
  fields.take_if_there("tokens", summary.tokens);
  if (fields.has("flops_per_core")) summary.flops_per_core = fields.number("flops_per_core");
  if (fields.has("share_of_peak")) summary.share_of_peak = fields.number("share_of_peak");
  fields.take("seconds", summary.seconds);
  fields.take("samples_per_second", summary.samples_per_second);
  fields.take("bytes_per_rank", summary.bytes_per_rank);
  fields.take("waiting_share", summary.waiting_share);
  fields.take("peak_memory_bytes", summary.peak_memory_bytes);
  fields.take_if_there("repaired", summary.repaired);
  fields.take_if_there("rollbacks", summary.rollbacks);
  fields.take_if_there("nonfinite", summary.nonfinite);
  fields.take_if_there("exchanges", summary.exchanges);
  if (fields.has("staleness")) summary.staleness = fields.integers("staleness");
  fields.take_if_there("checkpoints", summary.checkpoints);
  fields.take_if_there("checkpoint_seconds", summary.checkpoint_seconds);
  if (fields.has("overlap")) summary.overlap = fields.number("overlap");
  if (fields.has("times_of_ranks")) summary.times_of_ranks = times_in(fields.list("times_of_ranks"));
  const JsonFields evaluation = fields.in("evaluation");  // throws if it is not an object
  if (fields.has("format") && fields.at("format") == kMetricFormat) evaluation.at("metric");
  summary.evaluation = evaluation_from(fields.at("evaluation"));
  double accuracy = summary.evaluation.center.accuracy;
  fields.take_if_there(is_accuracy(summary.evaluation.metric) ? "test_accuracy" : "test_score", accuracy);
  require_consistent(summary, accuracy);
  return summary;
}

Json to_json(const EvaluationRecord& record) {
  const auto score = [&](const ModelScore& model) { return score_to_json(record.metric, model); };
  Json object = {{"step", record.step},
                 {"samples", record.samples},
                 {"epoch", record.epoch},
                 {"seconds", record.seconds},
                 {"evaluation_seconds", record.evaluation_seconds},
                 {"center", score(record.center)},
                 {"consensus_distance",
                  {{"min", record.distance_min}, {"mean", record.distance_mean}, {"max", record.distance_max}}}};
  if (record.workers) {
    object["mean_of_workers"] = score(record.workers->mean);
    object["first_worker"] = score(record.workers->first);
    object["best_worker"] = score(record.workers->best);
    object["best_worker"]["rank"] = record.workers->best_rank;
  }
  if (record.validation) object["validation"] = score(*record.validation);
  if (record.ema) object["ema"] = score(*record.ema);
  if (record.bits_per_byte) object["bits_per_byte"] = *record.bits_per_byte;
  if (!is_accuracy(record.metric)) object["metric"] = to_json(record.metric);
  return object;
}

Json to_json(const RunSummary& summary) {
  const bool has_accuracy = is_accuracy(summary.evaluation.metric);
  Json object = {{"format", has_accuracy ? kFileFormat : kMetricFormat},
                 {"communicator", summary.communicator},
                 {has_accuracy ? "test_accuracy" : "test_score", summary.evaluation.center.accuracy},
                 {"seconds", summary.seconds},
                 {"samples_per_second", summary.samples_per_second},
                 {"bytes_per_rank", summary.bytes_per_rank},
                 {"waiting_share", summary.waiting_share},
                 {"model", summary.model},
                 {"data", summary.data},
                 {"ranks", summary.ranks},
                 {"workers", summary.workers},
                 {"steps", summary.steps},
                 {"epochs", summary.epochs},
                 {"samples", summary.samples},
                 {"peak_memory_bytes", summary.peak_memory_bytes},
                 {"exchanges", summary.exchanges},
                 {"staleness", summary.staleness},
                 {"checkpoints", summary.checkpoints},
                 {"checkpoint_seconds", summary.checkpoint_seconds},
                 {"times_of_ranks", to_json(summary.times_of_ranks)},
                 {"evaluation", to_json(summary.evaluation)}};
  if (summary.tokens > 0) {
    object["tokens"] = summary.tokens;
    object["tokens_per_second"] = tokens_per_second(summary);
  }
  if (summary.flops_per_core) object["flops_per_core"] = *summary.flops_per_core;
  if (summary.share_of_peak) object["share_of_peak"] = *summary.share_of_peak;
  if (summary.rollbacks > 0) object["rollbacks"] = summary.rollbacks;
  if (summary.repaired > 0) object["repaired"] = summary.repaired;
  if (summary.nonfinite > 0) object["nonfinite"] = summary.nonfinite;
  if (summary.overlap) object["overlap"] = *summary.overlap;
  return object;
}

void write_summary(const OutputPath& path, const RunSummary& summary) {
  write_file_atomically(path, to_json(summary).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_summaries(const OutputPath& path, const std::vector<RunSummary>& summaries) {
  Json rows = Json::array();
  for (const RunSummary& summary : summaries) rows.push_back(to_json(summary));
  write_file_atomically(path, rows.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string summary_text(const RunSummary& summary) { return to_line(to_json(summary)); }

RunSummary summary_of(const std::string& text, const std::string& place) {
  try {
    return summary_from(parse_json(text));
  } catch (const UnknownFormat& error) {
    throw Error(ExitCode::kBadData, place + ": " + error.what());
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kBadData, place + " is no summary of an eave run: " + why_unreadable(error, text) + kPutBack);
  }
}

RunSummary read_summary(const std::filesystem::path& path) {
  return summary_of(read_file(path, std::size_t{1} << 24), path.string());
}

double tokens_per_second(const RunSummary& summary) {
  return summary.seconds > 0 ? static_cast<double>(summary.tokens) / summary.seconds : 0;
}

std::string human_bytes(double bytes) {
  static constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? decimal_text(bytes, 0) + " B" : format("%.1f %s", bytes, kUnits[unit]);
}

namespace {

constexpr const char* kMixed = "test score";

// The title of the column of scores: the metric that all runs share.
std::string score_title(const std::vector<RunSummary>& summaries) {
  const Metric metric = summaries.empty() ? Metric{} : summaries.front().evaluation.metric;
  const auto has_it = [&](const RunSummary& each) { return each.evaluation.metric == metric; };
  return std::ranges::all_of(summaries, has_it) ? "test " + printable(metric.name) : kMixed;
}

std::string score_cell(const RunSummary& row, const std::string& title) {
  const EvaluationRecord& last = row.evaluation;
  return title == kMixed ? named_score(last.metric, last.center.accuracy)
                         : score_text(last.metric, last.center.accuracy);
}

// A billion tokens would be wider than the table can hold.
std::string count_of_tokens(std::int64_t tokens) {
  constexpr double kMega = 1e6, kGiga = 1e9;
  const auto count = static_cast<double>(tokens);
  if (tokens < 100'000'000) return std::to_string(tokens);
  return count < 100 * kGiga ? format("%.1fM", count / kMega) : format("%.1fG", count / kGiga);
}

std::vector<std::string> cells_of(const RunSummary& row, const std::string& title, bool has_tokens) {
  return {row.communicator,
          std::to_string(row.ranks),
          score_cell(row, title),
          std::to_string(row.steps),
          has_tokens ? count_of_tokens(row.tokens) : std::to_string(row.samples),
          format("%.4g", row.epochs),
          decimal_text(row.seconds, 1),
          decimal_text(has_tokens ? tokens_per_second(row) : row.samples_per_second, 0),
          human_bytes(static_cast<double>(row.bytes_per_rank)),
          format("%.1f %%", 100 * row.waiting_share)};
}

}  // namespace

// At most 100 columns wide, unless runs have more than a hundred thousand steps and ten million samples.
std::string summary_table(const std::vector<RunSummary>& summaries) {
  const std::string title = score_title(summaries);
  const bool has_tokens = !summaries.empty() && std::ranges::all_of(summaries, &RunSummary::tokens);
  const std::string unit = has_tokens ? "tokens" : "samples";
  TextTable table{{"method", "ranks", title, "steps", unit, "epochs", "seconds", unit + "/s", "bytes/rank", "waiting"},
                  {},
                  1,
                  "  "};
  for (const RunSummary& row : summaries) table.rows.push_back(cells_of(row, title, has_tokens));
  return to_text(table);
}

namespace {

std::string describe_text_run(const RunSummary& row) {
  std::string text = "test loss " + loss_text(row.evaluation.center.loss);
  if (row.evaluation.bits_per_byte) text += format(", %.4g bits per byte", *row.evaluation.bits_per_byte);
  if (row.flops_per_core) text += format("; %.3g GFLOP/s per core", 1e-9 * *row.flops_per_core);
  if (row.share_of_peak) text += format(", %.0f %% of its FMA peak", 100 * *row.share_of_peak);
  return text;
}

}  // namespace

std::string detail_lines(const std::vector<RunSummary>& summaries) {
  std::string text;
  for (const RunSummary& row : summaries) {
    const EvaluationRecord& last = row.evaluation;
    std::string line = row.tokens > 0 ? describe_text_run(row) : "";
    if (last.ema)
      line += (line.empty() ? "" : "; ") +
              ("moving average of the consensus: test " + named_score(last.metric, last.ema->accuracy));
    if (line.empty()) continue;
    text += (summaries.size() > 1 ? printable(row.communicator) + ": " : "") + line + "\n";
  }
  return text;
}

}  // namespace eave
