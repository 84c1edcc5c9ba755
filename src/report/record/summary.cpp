#include "report/record/summary.h"

#include <array>
#include <cmath>
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
#include "report/text/terminal.h"

namespace eave {
namespace {

Json to_json(const ModelScore& score) { return {{"loss", score.loss}, {"accuracy", score.accuracy}}; }

// JSON has no NaN: null stands for it.
ModelScore score_from(const JsonFields& fields) { return {fields.number_or_nan("loss"), fields.number("accuracy")}; }

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
  record.center = score_from(fields.in("center"));
  if (fields.has("mean_of_workers")) {
    const JsonFields best = fields.in("best_worker");
    record.workers =
        WorkerScores{score_from(fields.in("mean_of_workers")), score_from(fields.in("first_worker")), score_from(best)};
    best.take("rank", record.workers->best_rank);
  }
  if (fields.has("validation")) record.validation = score_from(fields.in("validation"));
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
  require_known_format(object);
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
  fields.in("evaluation");  // throws if it is not an object
  summary.evaluation = evaluation_from(fields.at("evaluation"));
  double accuracy = summary.evaluation.center.accuracy;
  fields.take_if_there("test_accuracy", accuracy);
  require_consistent(summary, accuracy);
  return summary;
}

Json to_json(const EvaluationRecord& record) {
  Json object = {{"step", record.step},
                 {"samples", record.samples},
                 {"epoch", record.epoch},
                 {"seconds", record.seconds},
                 {"evaluation_seconds", record.evaluation_seconds},
                 {"center", to_json(record.center)},
                 {"consensus_distance",
                  {{"min", record.distance_min}, {"mean", record.distance_mean}, {"max", record.distance_max}}}};
  if (record.workers) {
    object["mean_of_workers"] = to_json(record.workers->mean);
    object["first_worker"] = to_json(record.workers->first);
    object["best_worker"] = to_json(record.workers->best);
    object["best_worker"]["rank"] = record.workers->best_rank;
  }
  if (record.validation) object["validation"] = to_json(*record.validation);
  return object;
}

Json to_json(const RunSummary& summary) {
  Json object = {{"format", kFileFormat},
                 {"communicator", summary.communicator},
                 {"test_accuracy", summary.evaluation.center.accuracy},
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

std::string human_bytes(double bytes) {
  static constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? decimal_text(bytes, 0) + " B" : format("%.1f %s", bytes, kUnits[unit]);
}

std::string summary_table(const std::vector<RunSummary>& summaries) {
  std::string table =
      "communicator   ranks   test accuracy   seconds   samples/s   bytes per rank   waiting\n"
      "------------   -----   -------------   -------   ---------   --------------   -------\n";
  for (const RunSummary& row : summaries) {
    table += format("%-12s   %5d   %11.2f %%   %7s   %9s   %14s   %5.1f %%\n", printable(row.communicator).c_str(),
                    row.ranks, 100 * row.evaluation.center.accuracy, decimal_text(row.seconds, 1).c_str(),
                    decimal_text(row.samples_per_second, 0).c_str(),
                    human_bytes(static_cast<double>(row.bytes_per_rank)).c_str(), 100 * row.waiting_share);
  }
  return table;
}

}  // namespace eave
