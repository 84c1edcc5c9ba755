#include "report/page/page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/compare/scaling_table.h"
#include "report/page/page_data.h"

namespace eave {
namespace {

// The most points of one kind over all runs. The limit keeps the page of many runs small.
constexpr std::size_t kAllPoints = 8000;
constexpr std::size_t kMostPoints = 200, kLeastPoints = 20;
constexpr std::size_t kLongestText = 400, kLongestSentence = 4000;

// Six digits are more than a plot can show, and take half the bytes.
Json json_number(double value, int digits = 6) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits).ptr;
  double rounded = 0;
  std::from_chars(text.data(), end, rounded);
  if (std::abs(rounded) < 1e15 && rounded == std::floor(rounded)) return static_cast<std::int64_t>(rounded);
  return rounded;
}

// Counts are written in full: a step or a batch of seven digits must stay exact.
Json json_count(double value) { return json_number(value, 15); }

template <typename Point, typename Value>
Json column(const std::vector<Point>& points, const Value& value) {
  Json numbers = Json::array();
  for (const Point& point : points) numbers.push_back(json_number(value(point)));
  return numbers;
}

template <typename Point, typename Step>
Json steps_of(const std::vector<Point>& points, const Step& step) {
  Json numbers = Json::array();
  for (const Point& point : points) numbers.push_back(json_count(static_cast<double>(step(point))));
  return numbers;
}

// Picks at most `limit` points at even distances, including the first and the last.
template <typename Point>
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t limit) {
  if (points.size() <= limit) return points;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < limit; ++i) kept.push_back(points[i * (points.size() - 1) / (limit - 1)]);
  return kept;
}

std::string cut(const std::string& text, std::size_t longest = kLongestText) {
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

Json cut(const std::vector<std::string>& texts, std::size_t longest) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(cut(text, longest));
  return list;
}

Json to_json(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  constexpr int kDigits = 10;  // a narrow interval is the difference of two like numbers
  const auto bound = [](const std::optional<double>& one) { return one ? json_number(*one, kDigits) : Json(nullptr); };
  return {{"n", value->n},
          {"mean", json_number(value->mean, kDigits)},
          {"low", bound(value->low)},
          {"high", bound(value->high)}};
}

Json to_json(const TimeShares& shares) {
  return {{"computing", json_number(shares.computing)},
          {"exchanging", json_number(shares.exchanging)},
          {"waiting", json_number(shares.waiting)},
          {"loading", json_number(shares.loading)}};
}

Json settings_to_json(const std::map<std::string, std::string>& settings) {
  Json object = Json::object();
  for (const auto& [name, text] : settings) object[cut(name)] = cut(text);
  return object;
}

Json to_json(const Variant& variant) {
  return {{"label", cut(variant.label)},
          {"method", cut(variant.method)},
          {"place", cut(variant.place)},
          {"ranks", variant.ranks},
          {"workers", variant.workers},
          {"batch_per_rank", json_count(variant.batch_per_rank)},
          {"total_batch", json_count(variant.total_batch)},
          {"lr", json_number(variant.learning_rate)},
          {"chosen", variant.chosen},
          {"why_chosen", variant.why_chosen},
          {"settings", settings_to_json(variant.settings)},
          {"tuning",
           {{"rates", variant.tuning.rates},
            {"runs", variant.tuning.runs},
            {"seconds", json_number(variant.tuning.seconds)}}},
          {"edges", variant.edges},
          {"option_tuning", variant.option_tuning},
          {"evaluations", variant.evaluations},
          {"within", variant.is_within},
          {"runs", variant.runs},
          {"finished", variant.finished.size()},
          {"accuracy", to_json(variant.accuracy)},
          {"validation", to_json(variant.validation)},
          {"loss", to_json(variant.loss)},
          {"seconds", to_json(variant.seconds)},
          {"samples", to_json(variant.samples)},
          {"samples_per_second", to_json(variant.samples_per_second)},
          {"bytes_per_rank", to_json(variant.bytes_per_rank)},
          {"speedup", to_json(variant.speedup)},
          {"efficiency", to_json(variant.efficiency)},
          {"seconds_to_target", to_json(variant.seconds_to_target)},
          {"samples_to_target", to_json(variant.samples_to_target)},
          {"bytes_to_target", to_json(variant.bytes_to_target)},
          {"shares", to_json(variant.shares)}};
}

// "first", "tied" or "behind" for each measure by which the variant stands somewhere.
Json standings_of(const Comparison& comparison, std::size_t variant) {
  Json standings = Json::object();
  for (const NamedMeasure& named : named_measures()) {
    const Standing standing = standing_of(comparison, variant, named.measure);
    if (standing == Standing::kNone) continue;
    standings[named.name] = standing == Standing::kFirst ? "first" : standing == Standing::kTied ? "tied" : "behind";
  }
  return standings;
}

Json steps_to_json(const std::vector<StepPoint>& steps) {
  return {{"seconds", column(steps, [](const StepPoint& point) { return point.seconds; })},
          {"step", steps_of(steps, [](const StepPoint& point) { return point.step; })},
          {"epoch", column(steps, [](const StepPoint& point) { return point.epoch; })},
          {"bytes", column(steps, [](const StepPoint& point) { return point.bytes; })},
          {"loss", column(steps, [](const StepPoint& point) { return point.loss; })}};
}

using Points = std::vector<EvaluationPoint>;

template <typename Score>
Json scores(const Points& points, const Score& score) {
  return {{"loss", column(points, [&](const EvaluationPoint& point) { return score(point).loss; })},
          {"accuracy", column(points, [&](const EvaluationPoint& point) { return score(point).accuracy; })}};
}

template <typename Field>
Json of_record(const Points& points, Field field) {
  return column(points, [field](const EvaluationPoint& point) { return static_cast<double>(point.record.*field); });
}

Json evaluations_to_json(const Points& points) {
  const ModelScore none{std::nan(""), std::nan("")};
  const auto of_workers = [&](ModelScore WorkerScores::*which) {
    return scores(points, [which, none](const EvaluationPoint& point) {
      return point.record.workers ? *point.record.workers.*which : none;
    });
  };
  Json object = {{"seconds", of_record(points, &EvaluationRecord::seconds)},
                 {"step", steps_of(points, [](const EvaluationPoint& point) { return point.record.step; })},
                 {"epoch", of_record(points, &EvaluationRecord::epoch)},
                 {"bytes", column(points, [](const EvaluationPoint& point) { return point.bytes; })},
                 {"center", scores(points, [](const EvaluationPoint& point) { return point.record.center; })},
                 {"mean_of_workers", of_workers(&WorkerScores::mean)},
                 {"first_worker", of_workers(&WorkerScores::first)},
                 {"best_worker", of_workers(&WorkerScores::best)}};
  if (std::ranges::any_of(points, [](const EvaluationPoint& point) { return point.record.validation.has_value(); })) {
    object["validation"] =
        scores(points, [none](const EvaluationPoint& point) { return point.record.validation.value_or(none); });
  }
  object["distance_min"] = of_record(points, &EvaluationRecord::distance_min);
  object["distance_mean"] = of_record(points, &EvaluationRecord::distance_mean);
  object["distance_max"] = of_record(points, &EvaluationRecord::distance_max);
  return object;
}

Json seed_of(const RunRecord& run) {
  const auto found = run.settings.find("seed");
  if (found == run.settings.end()) return nullptr;
  const auto seed = parse_number<std::int64_t>(found->second);
  return seed ? Json(*seed) : Json(cut(found->second));
}

Json runs_to_json(const Comparison& comparison) {
  const std::size_t count = std::max<std::size_t>(comparison.runs.size(), 1);
  const std::size_t limit = std::clamp(kAllPoints / count, kLeastPoints, kMostPoints);
  std::vector<std::size_t> variant_of(comparison.runs.size());
  for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
    for (const std::size_t run : comparison.variants[variant].runs) variant_of[run] = variant;
  }
  Json runs = Json::array();
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunRecord& run = comparison.runs[i];
    runs.push_back({{"name", cut(run.name)},
                    {"variant", variant_of[i]},
                    {"seed", seed_of(run)},
                    {"state", word_of(run.end)},
                    {"why", cut(run.why)},
                    {"steps", steps_to_json(thinned(run.steps, limit))},
                    {"evaluations", evaluations_to_json(thinned(run.evaluations, limit))}});
  }
  return runs;
}

// The lines of a text, without the empty ones at its end.
Json lines_of(const std::string& text) {
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(cut(line, kLongestSentence));
  }
  while (!lines.empty() && lines.back() == "") lines.erase(lines.size() - 1);
  return lines;
}

Json to_json(const ScalingTable& table, const std::vector<Variant>& variants) {
  Json rows = Json::array();
  for (const ScalingTable::Row& row : table.rows) {
    Json cells = Json::array();
    for (const auto& cell : row.cells) {
      cells.push_back(nullptr);
      if (!cell) continue;
      const Variant& variant = variants[cell->variant];
      cells.back() = {{"variant", cell->variant},
                      {"seconds", json_number(variant.seconds->mean)},
                      {"speedup", cell->speedup ? json_number(*cell->speedup) : Json(nullptr)},
                      {"accuracy", json_number(variant.accuracy->mean)}};
    }
    rows.push_back({{"ranks", row.ranks}, {"cells", cells}});
  }
  return {{"method", cut(table.method)},
          {"place", cut(table.place)},
          {"kept", table.total ? "total batch" : "batch per rank"},
          {"batches", table.batches},
          {"rows", rows}};
}

constexpr std::string_view kPlaceholder = "/*EAVE_DATA*/null";

// Dumps JSON as ASCII, so that U+2028 and U+2029 cannot end a line of the script. "<" occurs only inside texts.
std::string script_safe(const Json& data) {
  std::string safe;
  for (const char byte : data.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (byte == '<') {
      safe += "\\u003c";
    } else {
      safe += byte;
    }
  }
  return safe;
}

}  // namespace

Json page_data(const Comparison& comparison, const PageFacts& facts) {
  Json data = {{"format", 1}, {"title", cut(facts.title)}, {"made", facts.made}, {"version", facts.version}};
  data["own_notes"] = lines_of(facts.notes);
  data["metric"] = to_json(comparison.metric);
  if (comparison.tokens_per_sample > 0) data["tokens_per_sample"] = comparison.tokens_per_sample;
  data["target"] = nullptr;
  if (comparison.target) {
    data["target"] = {{"accuracy", json_number(comparison.target->accuracy)},
                      {"chosen_by", comparison.target->chosen_by}};
  }
  data["verdict"] = cut(comparison.verdict, kLongestSentence);
  data["notes"] = cut(comparison.notes, kLongestSentence);
  data["left_out"] = Json::array();
  for (const LeftOut& each : comparison.left_out) {
    data["left_out"].push_back({{"name", cut(each.name)}, {"why", cut(each.why)}});
  }
  data["differing"] = cut(comparison.differing, kLongestText);
  data["variants"] = Json::array();
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    data["variants"].push_back(to_json(comparison.variants[i]));
    data["variants"].back()["standing"] = standings_of(comparison, i);
  }
  data["runs"] = runs_to_json(comparison);
  data["notebook"] = Json::array();
  for (const ScalingTable& table : scaling_tables(comparison.variants)) {
    data["notebook"].push_back(to_json(table, comparison.variants));
  }
  return data;
}

std::string report_page(const Comparison& comparison, const PageFacts& facts) {
  std::string page(page_template());
  const std::size_t place = page.find(kPlaceholder);
  EAVE_CHECK(place != std::string::npos, "page.html has no place for its data");
  return page.replace(place, kPlaceholder.size(), script_safe(page_data(comparison, facts)));
}

}  // namespace eave
