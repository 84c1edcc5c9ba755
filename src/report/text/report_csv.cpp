// Writes the CSV files of a report (report/text/report_tables.h).
#include <cmath>

#include "base/options/number_text.h"
#include "report/record/config.h"
#include "report/text/report_tables.h"

namespace eave {
namespace {

std::string csv_number(double value) { return std::isfinite(value) ? number_text(value, 10) : ""; }

struct NamedEstimate {
  const char* name;
  std::optional<Estimate> Variant::*value;
};

constexpr std::array kEstimates = {NamedEstimate{"test_accuracy", &Variant::accuracy},
                                   NamedEstimate{"validation_accuracy", &Variant::validation},
                                   NamedEstimate{"seconds", &Variant::seconds},
                                   NamedEstimate{"samples", &Variant::samples},
                                   NamedEstimate{"samples_per_second", &Variant::samples_per_second},
                                   NamedEstimate{"bytes_per_rank", &Variant::bytes_per_rank},
                                   NamedEstimate{"speedup", &Variant::speedup},
                                   NamedEstimate{"efficiency", &Variant::efficiency},
                                   NamedEstimate{"seconds_to_target", &Variant::seconds_to_target},
                                   NamedEstimate{"samples_to_target", &Variant::samples_to_target},
                                   NamedEstimate{"bytes_to_target", &Variant::bytes_to_target}};

std::string with_word(std::string title, std::string_view word, std::string_view replacement) {
  const std::size_t place = title.find(word);
  return place == std::string::npos ? title : title.replace(place, word.size(), replacement);
}

// A title of a column, with the name of the runs' metric in place of "accuracy", and of text "tokens" in place of
// "samples".
std::string title_of(const std::string& title, const Comparison& comparison) {
  const std::string named = with_word(title, "accuracy", comparison.metric.name);
  return comparison.tokens_per_sample > 0 ? with_word(named, "samples", "tokens") : named;
}

// The count of a sample in a column of samples: its tokens, if the runs are of text.
double count_of_sample(const Comparison& comparison) {
  return static_cast<double>(std::max<std::int64_t>(comparison.tokens_per_sample, 1));
}

void add_numbers(std::vector<std::string>& row, const std::vector<double>& values) {
  for (const double value : values) row.push_back(csv_number(value));
}

void add_estimate(std::vector<std::string>& row, const std::optional<Estimate>& value, double factor) {
  row.push_back(value ? csv_number(factor * value->mean) : "");
  row.push_back(value && value->low ? csv_number(factor * *value->low) : "");
  row.push_back(value && value->high ? csv_number(factor * *value->high) : "");
}

std::vector<std::string> row_of(const Variant& variant, const Comparison& comparison) {
  std::vector<std::string> row{variant.method, variant.place, variant.why_chosen};
  for (const std::string& name : comparison.differing) row.push_back(setting_in(variant.settings, name));
  add_numbers(row, {double(variant.ranks), double(variant.workers), variant.batch_per_rank, variant.total_batch,
                    variant.learning_rate, double(variant.chosen), double(variant.runs.size()),
                    double(variant.finished.size())});
  for (const NamedEstimate& each : kEstimates) {
    const bool of_samples = std::string_view(each.name).starts_with("samples");
    add_estimate(row, variant.*each.value, of_samples ? count_of_sample(comparison) : 1);
  }
  row.push_back(comparison.target ? csv_number(comparison.target->accuracy) : "");
  const TimeShares& shares = variant.shares;
  for (const double share : {shares.computing, shares.exchanging, shares.waiting, shares.loading}) {
    row.push_back(variant.finished.empty() ? "" : csv_number(share));
  }
  row.push_back(variant.seconds_to_target ? csv_number(double(variant.is_within)) : "");
  return row;
}

std::vector<std::string> row_of(const RunRecord& run, const Variant& variant, double per_sample) {
  std::vector<std::string> row{run.name, variant.label, word_of(run.end), run.why, setting_in(run.settings, "seed")};
  if (!run.summary) {
    row.resize(row.size() + 8);
    return row;
  }
  const RunSummary& summary = *run.summary;
  add_numbers(row, {summary.evaluation.center.accuracy, summary.evaluation.center.loss, summary.seconds,
                    double(summary.steps), summary.epochs, per_sample * double(summary.samples),
                    per_sample * summary.samples_per_second, double(summary.bytes_per_rank)});
  return row;
}

std::vector<std::string> row_of(const std::string& name, const StepPoint& point, std::size_t columns) {
  std::vector<std::string> row{name, "training"};
  add_numbers(row, {point.step, point.epoch, point.seconds, point.bytes, point.loss});
  row.resize(columns);
  if (point.gradient_norm) row.back() = csv_number(*point.gradient_norm);
  return row;
}

std::vector<std::string> row_of(const std::string& name, const EvaluationPoint& point) {
  const EvaluationRecord& record = point.record;
  std::vector<std::string> row{name, "evaluation"};
  add_numbers(row, {double(record.step), record.epoch, record.seconds, point.bytes});
  row.emplace_back();
  const ModelScore none{std::nan(""), std::nan("")};
  std::vector<ModelScore> scores = {record.center, record.validation.value_or(none)};
  for (ModelScore WorkerScores::*const which : {&WorkerScores::mean, &WorkerScores::first, &WorkerScores::best})
    scores.push_back(record.workers ? *record.workers.*which : none);
  for (const ModelScore& score : scores) add_numbers(row, {score.loss, score.accuracy});
  add_numbers(row, {record.distance_min, record.distance_mean, record.distance_max});
  const ModelScore average = record.ema.value_or(none);
  add_numbers(row, {average.loss, average.accuracy, record.bits_per_byte.value_or(std::nan(""))});
  row.emplace_back();
  return row;
}

}  // namespace

std::string variants_csv(const Comparison& comparison) {
  TextTable table{{"method", "place", "why_chosen"}, {}, 3 + comparison.differing.size()};
  for (const std::string& name : comparison.differing) table.titles.push_back("option " + name);
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) table.titles.push_back(title_of(name, comparison));
  };
  add({"ranks", "workers", "batch_per_rank", "total_batch", "lr", "chosen", "runs", "finished"});
  for (const NamedEstimate& each : kEstimates) {
    for (const char* part : {"", "_low", "_high"}) table.titles.push_back(title_of(each.name, comparison) + part);
  }
  add({"target_accuracy", "computing", "exchanging", "waiting", "loading", "to_target_is_bound"});
  for (const Variant& variant : comparison.variants) table.rows.push_back(row_of(variant, comparison));
  return to_csv(table);
}

std::string runs_csv(const Comparison& comparison) {
  TextTable table{
      {"run", "variant", "state", "why", "seed", title_of("test_accuracy", comparison), "test_loss", "seconds", "steps",
       "epochs", title_of("samples", comparison), title_of("samples_per_second", comparison), "bytes_per_rank"},
      {},
      5};
  for (const Variant& variant : comparison.variants) {
    for (const std::size_t run : variant.runs) {
      table.rows.push_back(row_of(comparison.runs[run], variant, count_of_sample(comparison)));
    }
  }
  return to_csv(table);
}

std::string metrics_csv(const Comparison& comparison) {
  TextTable table{{"run", "kind", "step", "epoch", "seconds", "bytes", "training_loss"}, {}, 2};
  for (const char* model : {"center", "validation", "mean_of_workers", "first_worker", "best_worker"}) {
    table.titles.push_back(std::string(model) + "_loss");
    table.titles.push_back(title_of(std::string(model) + "_accuracy", comparison));
  }
  for (const char* part : {"min", "mean", "max"}) table.titles.push_back(std::string("distance_") + part);
  for (const char* name : {"ema_loss", "ema_accuracy", "bits_per_byte", "gradient_norm"})
    table.titles.push_back(title_of(name, comparison));
  for (const RunRecord& run : comparison.runs) {
    for (const StepPoint& point : run.steps) table.rows.push_back(row_of(run.name, point, table.titles.size()));
    for (const EvaluationPoint& point : run.evaluations) table.rows.push_back(row_of(run.name, point));
  }
  return to_csv(table);
}

}  // namespace eave
