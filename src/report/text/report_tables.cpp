#include "report/text/report_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/number_style.h"
#include "report/compare/scaling_table.h"
#include "report/record/metric.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr const char* kNothing = "-";

template <typename Text>
std::string or_nothing(const std::optional<Estimate>& value, const Text& text) {
  return value ? text(*value) : kNothing;
}

// With at least two figures, and never with an exponent.
std::string text_of_part(double part, NumberStyle style) {
  if (part > 0) style.decimals = std::max(style.decimals, 1 - static_cast<int>(std::floor(std::log10(part))));
  return style.text(part);
}

std::string score_with_interval(const Metric& metric, const Estimate& value) {
  const std::string mean = score_text(metric, value.mean);
  if (!value.high) return mean;
  const double half = half_of(value), shift = std::abs((*value.high + *value.low) / 2 - value.mean);
  const NumberStyle usual = style_of(metric, value.mean), style = usual.showing({half}, value.mean);
  if (!is_accuracy(metric) && style.decimals == usual.decimals)
    return mean + (shift > half / 5
                       ? " (" + text_of_part(*value.low, style) + " to " + text_of_part(*value.high, style) + ")"
                       : " +- " + text_of_part(half, style));
  return style.text(value.mean) + (is_accuracy(metric) ? " %" : "") +
         (shift > half / 5 ? " (" + style.text(*value.low) + " to " + style.text(*value.high) + ")"
                           : " +- " + style.text(half));
}

bool was_chosen(const Variant& variant) { return variant.chosen && variant.why_chosen != "only one"; }

// "0.1 *", "0.1 * edge", "0.1 * edge of tau": chosen among several; the best value lies at the edge of what was tried.
std::string learning_rate(const Variant& variant) {
  std::string edge = variant.edges.empty() ? "     " : " edge";
  for (std::size_t i = 0; i < variant.option_edges.size(); ++i)
    edge += (i == 0 ? " of " : ", ") + variant.option_edges[i].option;
  const std::string rate = variant.learning_rate > 0 ? number_text(variant.learning_rate) : "-";  // not recorded
  return rate + (was_chosen(variant) ? " *" : "  ") + edge;
}

std::vector<std::string> row_of(const Comparison& comparison, const Variant& variant) {
  const Metric& metric = comparison.metric;
  const auto with = [](const char* pattern, double factor) {
    return [pattern, factor](const Estimate& value) { return format(pattern, factor * value.mean); };
  };
  const auto per_sample = static_cast<double>(std::max<std::int64_t>(comparison.tokens_per_sample, 1));
  const auto seconds = [](const Estimate& value) { return style_of_seconds(value.mean).text(value.mean); };
  // A cost to the target is an upper bound if a run had the target at its first evaluation.
  const std::string bound = variant.is_within ? "<= " : "";
  return {variant.method + (variant.place.empty() ? "" : " on " + variant.place),
          std::to_string(variant.ranks),
          variant.batch_per_rank > 0 ? number_text(variant.batch_per_rank) : "-",  // not recorded
          learning_rate(variant),
          std::to_string(variant.finished.size()) + " of " + std::to_string(variant.runs.size()),
          or_nothing(variant.accuracy, [&](const Estimate& value) { return score_with_interval(metric, value); }),
          or_nothing(variant.seconds, seconds),
          or_nothing(variant.samples_per_second,
                     [&](const Estimate& value) { return decimal_text(value.mean * per_sample, 0); }),
          or_nothing(variant.bytes_per_rank, [](const Estimate& value) { return human_bytes(value.mean); }),
          or_nothing(variant.speedup, with("%.2f", 1)),
          or_nothing(variant.efficiency, with("%.0f %%", 100)),
          or_nothing(variant.seconds_to_target, [&](const Estimate& value) { return bound + seconds(value); }),
          or_nothing(variant.bytes_to_target, [&](const Estimate& value) { return bound + human_bytes(value.mean); })};
}

std::string variants_table(const Comparison& comparison) {
  const Metric& metric = comparison.metric;
  const std::string target = !comparison.target    ? "target"
                             : is_accuracy(metric) ? format("%.4g %%", 100 * comparison.target->accuracy)
                                                   : score_text(metric, comparison.target->accuracy);
  const std::string rate = comparison.tokens_per_sample > 0 ? "tokens/s" : "samples/s";
  TextTable table;
  table.titles = {"method",     "ranks", "batch/rank",     "lr       ", "runs",       "test " + printable(metric.name),
                  "seconds",    rate,    "bytes per rank", "speed-up",  "efficiency", "s to " + target,
                  "bytes to it"};
  for (const Variant& variant : comparison.variants) table.rows.push_back(row_of(comparison, variant));
  return to_text(table);
}

TextTable scaling_rows(const Metric& metric, const ScalingTable& scaling, const std::vector<Variant>& variants) {
  TextTable table{{"ranks"}, {}, 0};
  for (const double batch : scaling.batches) {
    for (const std::string& what : {std::string(": seconds"), std::string(": speed-up"), ": " + printable(metric.name)})
      table.titles.push_back(number_text(batch) + what);
  }
  for (const ScalingTable::Row& row : scaling.rows) {
    std::vector<std::string> cells{std::to_string(row.ranks)};
    for (const auto& cell : row.cells) {
      const Variant* variant = cell ? &variants[cell->variant] : nullptr;
      cells.push_back(variant ? decimal_text(variant->seconds->mean, 1) : kNothing);
      cells.push_back(cell && cell->speedup ? format("%.2f", *cell->speedup) : kNothing);
      cells.push_back(variant ? score_text(metric, variant->accuracy->mean) : kNothing);
    }
    table.rows.push_back(cells);
  }
  return table;
}

std::string scaling_text(const Comparison& comparison) {
  std::string text;
  for (const ScalingTable& scaling : scaling_tables(comparison.variants)) {
    text += "\n" + printable(scaling.method) + (scaling.place.empty() ? "" : " on " + printable(scaling.place)) +
            (scaling.total ? ", total batch kept; columns are total batches\n"
                           : ", batch per rank kept; columns are batches per rank\n") +
            to_text(scaling_rows(comparison.metric, scaling, comparison.variants));
  }
  return text;
}

// "10 (3 variants), 20 (1)": the values among the variants to which the setting applies. "" if they all have the same.
std::string values_of(const std::string& name, const std::vector<Variant>& variants) {
  std::map<std::string, int> counts;
  for (const Variant& variant : variants) {
    if (variant.settings.contains(name)) ++counts[variant.settings.at(name)];
  }
  if (counts.size() < 2) return "";
  std::string text;
  for (const auto& [value, count] : counts) {
    text += (text.empty() ? "" : ", ") + value + " (" + std::to_string(count) + ")";
  }
  return text;
}

std::string settings_table(const Comparison& comparison) {
  TextTable table{{"setting that differs", "values (variants)"}, {}, 2};
  for (const std::string& name : comparison.differing) {
    const std::string values = values_of(name, comparison.variants);
    if (!values.empty()) table.rows.push_back({name, values});
  }
  return to_text(table);
}

std::string paragraph(const std::string& text) { return text.empty() ? "" : "\n" + text; }

}  // namespace

std::string report_text(const Comparison& comparison) {
  std::string text;
  for (const std::string& sentence : comparison.verdict) text += printable(sentence) + "\n";
  text += paragraph(variants_table(comparison));
  const auto has_several_seeds = [](const Variant& variant) { return variant.seeds.size() > 1; };
  if (std::ranges::any_of(comparison.variants, has_several_seeds))
    text += "Scores have arithmetic means over seeds. Times, rates and bytes have geometric means.\n";
  if (std::ranges::any_of(comparison.variants, was_chosen))
    text += "* the best of its learning rates, which stands for the method\n";
  text += scaling_text(comparison) + paragraph(settings_table(comparison));
  if (!comparison.notes.empty()) text += "\n";
  for (const std::string& note : comparison.notes) text += "note: " + printable(note) + "\n";
  for (const LeftOut& each : comparison.left_out) {
    text += "left out: " + printable(each.name) + ": " + printable(each.why) + "\n";
  }
  return text;
}

}  // namespace eave
