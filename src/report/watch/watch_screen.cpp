#include "report/watch/watch_screen.h"

#include <algorithm>
#include <cmath>

#include "base/options/quantities.h"
#include "report/record/metric.h"
#include "report/text/progress.h"
#include "report/text/report_tables.h"

namespace eave {
namespace {

using Texts = std::vector<std::string>;

std::string whole_percent(double share) { return format("%.0f %%", 100 * share); }

// Adds the parts in a row, on as many lines as needed. All lines but the first are indented.
void add_wrapped(Texts& lines, const Texts& parts, int columns) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!line.empty() && static_cast<int>(line.size() + 2 + part.size()) > columns) {
      lines.push_back(line);
      line = "  " + part;
    } else {
      line += (line.empty() ? "" : "  ") + part;
    }
  }
  if (!line.empty()) lines.push_back(line);
}

std::string of_limit(const WatchedRun& run, const char* limit) {
  const std::string text = run.setting(limit);
  return text.empty() ? "" : " of " + text;
}

Texts position(const WatchedRun& run) {
  const StepRecord& last = run.last();
  Texts parts;
  if (run.has_epochs()) parts.push_back(format("epoch %.2f", last.epoch) + of_limit(run, "epochs"));
  parts.push_back(format("step %lld", static_cast<long long>(last.step)) + of_limit(run, "max-steps"));
  if (!run.setting("max-samples").empty())
    parts.push_back(format("sample %lld", static_cast<long long>(last.samples)) + of_limit(run, "max-samples"));
  if (!run.setting("max-tokens").empty())
    parts.push_back(format("token %lld", static_cast<long long>(last.samples * run.tokens_per_sample())) +
                    of_limit(run, "max-tokens"));
  return parts;
}

// The estimate is an upper bound if the run may stop at an evaluation.
std::string time_left(const WatchedRun& run) {
  if (run.has_ended() || !std::isfinite(run.seconds_left())) return "";
  bool may_stop = false;
  for (const char* option : {"stop-at-accuracy", "stop-at-loss", "stop-after-time", "stop-after-bytes"})
    may_stop = may_stop || !run.setting(option).empty();
  return (may_stop ? "at most " : "about ") + clock_text(run.seconds_left()) + " left";
}

std::string bar(double share, int width) {
  const auto filled = static_cast<std::size_t>(share * width);
  return "[" + std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '.') + "] " +
         whole_percent(share);
}

// "ended by --stop-after-time 60s"; "ended" if the run came to its planned end.
std::string how_it_ended(const WatchedRun& run) {
  if (!run.end()) return "failed";
  const RunSummary& end = *run.end();
  const ModelScore& model = end.evaluation.center;
  const auto by = [&](const char* option, const auto& limit, const auto& is_met) -> std::string {
    return limit.value && is_met(static_cast<double>(*limit.value))
               ? std::string(" by --") + option + " " + run.setting(option)
               : "";
  };
  const auto text = [&](const char* option) { return run.setting(option); };
  for (const std::string& why :
       {by("stop-at-accuracy", read_real(text("stop-at-accuracy")),
           [&](double most) { return model.accuracy >= most; }),
        by("stop-at-loss", read_real(text("stop-at-loss")), [&](double least) { return model.loss <= least; }),
        by("stop-after-time", read_seconds(text("stop-after-time")), [&](double most) { return end.seconds >= most; }),
        by("stop-after-bytes", read_bytes(text("stop-after-bytes")),
           [&](double most) { return static_cast<double>(end.bytes_per_rank) >= most; })})
    if (!why.empty()) return "ended" + why;
  return "ended";
}

// If the file has no steps, the end of the run knows only how fast it was.
Texts speeds(const WatchedRun& run) {
  if (!run.has_steps()) return {run.end() ? rate_text(run.end()->samples_per_second, run.tokens_per_sample()) : ""};
  const RecentSteps recent = run.recent();
  return {"loss " + loss_text(recent.loss), format("learning rate %.4g", run.last().learning_rate),
          rate_text(recent.samples_per_second, run.tokens_per_sample())};
}

Texts shares(const WatchedRun& run) {
  if (!run.has_steps()) return {};
  const RecentSteps recent = run.recent();
  return {"rank 0: computing " + whole_percent(recent.computing), "waiting " + whole_percent(recent.waiting),
          "loading " + whole_percent(recent.loading), "exchanging " + whole_percent(recent.exchanging) + " meanwhile"};
}

struct Column {
  const char* title;
  std::string (*text)(const EvaluationRecord&);
  bool is_of_several;  // shown only if workers differ
  bool is_of_workers = false;
  bool (*is_there)(const EvaluationRecord&) = nullptr;  // asked of the last evaluation; nullptr: always
};

std::string score(const EvaluationRecord& record, const ModelScore& model) {
  return is_accuracy(record.metric) ? format("%.2f", 100 * model.accuracy) : score_text(record.metric, model.accuracy);
}
std::string score(const EvaluationRecord& record, ModelScore WorkerScores::*which) {
  return record.workers ? score(record, *record.workers.*which) : "-";
}

// "test accuracy in %", "test perplexity"
std::string title_of(const Metric& metric) {
  return is_accuracy(metric) ? "test accuracy in %" : "test " + metric.name;
}

// In order of importance: the last ones are dropped first if there is not enough room.
const std::vector<Column> kColumns = {
    {"epoch", [](const EvaluationRecord& record) { return format("%.2f", record.epoch); }, false, false,
     [](const EvaluationRecord& record) { return has_epochs(record.epoch, record.samples); }},
    {"center", [](const EvaluationRecord& record) { return score(record, record.center); }, false},
    {"mean", [](const EvaluationRecord& record) { return score(record, &WorkerScores::mean); }, true, true},
    {"best", [](const EvaluationRecord& record) { return score(record, &WorkerScores::best); }, true, true},
    {"valid.",
     [](const EvaluationRecord& record) {
       return record.validation ? score(record, *record.validation) : std::string("-");
     },
     false, false, [](const EvaluationRecord& record) { return record.validation.has_value(); }},
    {"ema", [](const EvaluationRecord& record) { return record.ema ? score(record, *record.ema) : std::string("-"); },
     false, false, [](const EvaluationRecord& record) { return record.ema.has_value(); }},
    {"loss",
     [](const EvaluationRecord& record) {
       return std::isfinite(record.center.loss) ? loss_text(record.center.loss) : std::string("-");
     },
     false},
    {"bits/B",
     [](const EvaluationRecord& record) {
       return record.bits_per_byte ? format("%.4g", *record.bits_per_byte) : std::string("-");
     },
     false, false, [](const EvaluationRecord& record) { return record.bits_per_byte.has_value(); }},
    {"distance", [](const EvaluationRecord& record) { return format("%.3g", record.distance_mean); }, true},
    {"step", [](const EvaluationRecord& record) { return format("%lld", static_cast<long long>(record.step)); }, false},
};

bool differ(const EvaluationRecord& record) {
  return record.distance_max > 0 || (record.workers && record.workers->best.accuracy != record.center.accuracy);
}

Texts evaluation_table(const std::vector<EvaluationRecord>& records, int columns, std::size_t most) {
  constexpr int kWidth = 9;
  if (records.empty() || most < 3) return {};
  const bool are_several = std::ranges::any_of(records, differ);
  const std::size_t first = records.size() - std::min(records.size(), most - 2);
  Texts lines(records.size() - first + 1);
  // Programs of one's own evaluate the workers only if they ask for it.
  const bool have_workers =
      is_accuracy(records.back().metric) ||
      std::ranges::any_of(records, [](const EvaluationRecord& record) { return record.workers.has_value(); });
  for (const Column& column : kColumns) {
    if (column.is_of_workers && !have_workers) continue;
    if (column.is_there != nullptr && !column.is_there(records.back())) continue;
    if (column.is_of_several && !are_several) continue;
    if (static_cast<int>(lines[0].size()) + kWidth > columns) break;
    const bool is_test = std::string(column.title) == "center" && !are_several;
    lines[0] += format("%*s", kWidth, is_test ? "test" : column.title);
    for (std::size_t i = first; i < records.size(); ++i)
      lines[i - first + 1] += format("%*s", kWidth, column.text(records[i]).c_str());
  }
  lines.insert(lines.begin(),
               title_of(records.back().metric) + (are_several && have_workers ? " of center and workers" : ""));
  return lines;
}

Texts plot(const WatchedRun& run, const ScreenStyle& style, int rows) {
  if (style.plot == WatchPlot::kOff) return {};
  const bool is_loss = style.plot == WatchPlot::kLoss;
  const std::vector<PlotPoint> points = is_loss ? run.losses() : run.accuracies();
  // A wider plot would show little but slope.
  Texts lines = text_plot(points, {std::min(style.columns, 100), rows - 2, style.is_utf8});
  if (lines.empty()) return {};
  lines.insert(lines.begin(), is_loss ? "loss of rank 0's batches" : title_of(run.metric()));
  const auto number = [&](double x) { return format(run.has_epochs() ? "%.3g" : "%.0f", x); };
  const std::string from = (run.has_epochs() ? "epoch " : "step ") + number(points.front().x),
                    to = number(points.back().x);
  const auto width = static_cast<std::size_t>(std::min(style.columns, 100)) - 10;
  lines.push_back(std::string(10, ' ') + from + std::string(width - std::min(width, from.size() + to.size()), ' ') +
                  to);
  return lines;
}

std::string without_header(const WatchedRun& run) {
  return run.damage().empty() ? "has not begun" : "cannot be shown, as no header of it can be read";
}

Texts heading(const std::string& name, const WatchedRun& run, int columns) {
  Texts lines;
  if (!run.has_begun()) return {name + ": " + without_header(run)};
  add_wrapped(
      lines,
      {name + ":", run.communicator() + ", " + std::to_string(run.ranks()) + (run.ranks() == 1 ? " rank" : " ranks"),
       run.model() + " on " + run.setting("data"), run.was_resumed() ? "(resumed)" : ""},
      columns);
  if (run.last().step == 0) {
    lines.emplace_back("no step yet");
    return lines;
  }
  Texts parts;
  if (run.has_ended())
    parts = {how_it_ended(run)};
  else if (run.share_done() > 0)  // else nobody has said how long it is
    parts = {bar(run.share_done(), columns < 60 ? 12 : 24)};
  for (const std::string& part : position(run)) parts.push_back(part);
  parts.push_back(time_left(run));
  add_wrapped(lines, parts, columns);
  add_wrapped(lines, speeds(run), columns);
  add_wrapped(lines, shares(run), columns);
  return lines;
}

}  // namespace

std::string shown_text(const std::string& text, bool is_utf8) {
  std::string shown = printable(text);
  if (is_utf8) return shown;
  std::ranges::replace_if(
      shown, [](char byte) { return static_cast<unsigned char>(byte) >= 128; }, '?');
  return shown;
}

std::vector<std::string> watch_screen(const std::string& name, const WatchedRun& run, const ScreenStyle& style) {
  Texts lines = heading(name, run, style.columns);
  const auto left = [&] { return style.rows - static_cast<int>(lines.size()); };
  const auto add = [&](const Texts& more) {
    if (more.empty() || static_cast<int>(more.size()) >= left()) return;
    lines.emplace_back();
    lines.insert(lines.end(), more.begin(), more.end());
  };
  // Two thirds of the remaining rows, but at most 14, which can still be read at a glance.
  add(plot(run, style, std::clamp(left() * 2 / 3, 0, 14)));
  add(evaluation_table(run.evaluations(), style.columns, static_cast<std::size_t>(std::clamp(left() - 1, 0, 8))));
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(std::max(style.rows, 1))));
  for (std::string& line : lines) line = first_characters(shown_text(line, style.is_utf8), style.columns);
  return lines;
}

std::string watch_line(const WatchedRun& run) {
  if (!run.has_begun()) return without_header(run);
  if (run.last().step == 0) return "no step yet";
  Texts line;
  Texts parts = position(run);
  for (const Texts& more : {speeds(run), shares(run), Texts{time_left(run)}})
    parts.insert(parts.end(), more.begin(), more.end());
  add_wrapped(line, parts, 1 << 20);
  return line.front();
}

std::string evaluation_line(const EvaluationRecord& record) {
  std::string line = describe_test(record);
  if (record.validation) line += "  validation " + named_score(record.metric, record.validation->accuracy);
  return differ(record) ? line + describe_workers(record) : line;
}

}  // namespace eave
