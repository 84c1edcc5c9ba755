#include "report/summary.h"

#include <array>
#include <cmath>
#include <type_traits>

#include "base/files.h"
#include "base/json_integer.h"
#include "base/printable.h"
#include "base/quantities.h"
#include "base/strict_json.h"
#include "eave/check.h"
#include "report/field_ranges.h"
#include "report/format_version.h"
#include "report/json.h"
#include "report/terminal.h"

namespace eave {
namespace {

Json to_json(const ModelScore& score) { return {{"loss", score.loss}, {"accuracy", score.accuracy}}; }

// JSON has no NaN: null stands for it.
ModelScore score_from(const Json& object) {
  const Json& loss = object.at("loss");
  return {loss.is_null() ? std::nan("") : loss.get<double>(), object.at("accuracy").get<double>()};
}

template <typename Value>
void take(const Json& object, const char* name, Value& value) {
  const Json& found = object.at(name);
  if constexpr (std::is_integral_v<Value>) {
    value = integer_in<Value>(found);
  } else {
    found.get_to(value);
  }
}

template <typename Value>
void take_if_there(const Json& object, const char* name, Value& value) {
  if (object.contains(name)) take(object, name, value);
}

}  // namespace

EvaluationRecord evaluation_from(const Json& object) {
  check_ranges(object, "evaluation");
  EvaluationRecord record;
  take(object, "step", record.step);
  take(object, "samples", record.samples);
  take(object, "epoch", record.epoch);
  take(object, "seconds", record.seconds);
  take(object, "evaluation_seconds", record.evaluation_seconds);
  record.center = score_from(object.at("center"));
  if (object.contains("mean_of_workers")) {
    const Json& best = object.at("best_worker");
    record.workers = WorkerScores{score_from(object.at("mean_of_workers")), score_from(object.at("first_worker")),
                                  score_from(best), integer_in<int>(best.at("rank"))};
  }
  if (object.contains("validation")) record.validation = score_from(object.at("validation"));
  const Json& distance = object.at("consensus_distance");
  take(distance, "min", record.distance_min);
  take(distance, "mean", record.distance_mean);
  take(distance, "max", record.distance_max);
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

RankTimes times_from(const Json& object) {
  RankTimes times;
  take(object, "computing", times.computing);
  take(object, "loading", times.loading);
  take(object, "exchanging", times.exchanging);
  take(object, "waiting", times.waiting);
  take(object, "waiting_for_ranks", times.waiting_for_ranks);
  take(object, "times_waited_for", times.times_waited_for);
  take(object, "seconds_waited_for", times.seconds_waited_for);
  return times;
}

// Rows stand in the order of ranks.
void require_rank(const Json& times, std::int64_t rank) {
  std::int64_t named = -1;
  take(times, "rank", named);
  if (named != rank)
    throw OutOfRange("times_of_ranks names rank " + std::to_string(named) + " in the place of rank " +
                     std::to_string(rank));
}

// Numbers that stand in two places, or bound each other.
void check_agreement(const Json& object, const RunSummary& summary) {
  const auto require = [](bool holds, const char* why) {
    if (!holds) throw OutOfRange(why);
  };
  double accuracy = summary.evaluation.center.accuracy;
  take_if_there(object, "test_accuracy", accuracy);
  require(accuracy == summary.evaluation.center.accuracy, "test_accuracy is not evaluation.center.accuracy");
  require(summary.workers <= summary.ranks, "workers is more than ranks");
  require(!summary.evaluation.workers || summary.evaluation.workers->best_rank < summary.ranks,
          "evaluation.best_worker.rank is not one of the ranks");
  require(std::ssize(summary.times_of_ranks) <= summary.ranks, "times_of_ranks has more rows than there are ranks");
}

RunSummary summary_from(const Json& object) {
  require_known_format(object);
  check_ranges(object, "summary.json");
  RunSummary summary;
  take(object, "communicator", summary.communicator);
  take(object, "model", summary.model);
  take(object, "data", summary.data);
  take(object, "ranks", summary.ranks);
  summary.workers = summary.ranks;
  take_if_there(object, "workers", summary.workers);
  take(object, "steps", summary.steps);
  take(object, "epochs", summary.epochs);
  take(object, "samples", summary.samples);
  take(object, "seconds", summary.seconds);
  take(object, "samples_per_second", summary.samples_per_second);
  take(object, "bytes_per_rank", summary.bytes_per_rank);
  take(object, "waiting_share", summary.waiting_share);
  take(object, "peak_memory_bytes", summary.peak_memory_bytes);
  take_if_there(object, "repaired", summary.repaired);
  take_if_there(object, "rollbacks", summary.rollbacks);
  take_if_there(object, "nonfinite", summary.nonfinite);
  take_if_there(object, "exchanges", summary.exchanges);
  if (object.contains("staleness")) summary.staleness = integers_in<std::int64_t>(object.at("staleness"));
  take_if_there(object, "checkpoints", summary.checkpoints);
  take_if_there(object, "checkpoint_seconds", summary.checkpoint_seconds);
  if (object.contains("overlap")) summary.overlap = object.at("overlap").get<double>();
  if (object.contains("times_of_ranks")) {
    for (const Json& times : object.at("times_of_ranks")) {
      require_rank(times, std::ssize(summary.times_of_ranks));
      summary.times_of_ranks.push_back(times_from(times));
    }
  }
  summary.evaluation = evaluation_from(object.at("evaluation"));
  check_agreement(object, summary);
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
    throw Error(ExitCode::kBadData, place + " is no summary of an eave run: " + error.what());
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
