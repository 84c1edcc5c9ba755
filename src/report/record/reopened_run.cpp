#include "report/record/reopened_run.h"

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/files/output_file.h"
#include "base/formats/strict_json.h"
#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/read/metrics_parser.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"
#include "report/record/missing_steps.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Reads the lines that a resumed run keeps, and checks each: the new lines will be read together with them.
class KeptReading {
 public:
  KeptReading(const fs::path& path, const KeptLines& kept) : path_(path), lines_(path), kept_(kept) {}

  std::string read() {
    for (std::string_view line; lines_.next(line);) {
      if (!lines_.is_whole()) break;
      try {
        take(line);
      } catch (const OutOfRange& error) {
        note(error);
        refuse_damaged();
      } catch (const UnknownFormat& error) {
        note(error);
        refuse_damaged();
      } catch (const Json::exception& error) {
        note(error);  // an incomplete last line is expected: the run ended while it was written
      }
    }
    if (!parser_.header()) refuse_empty();
    drop_attempts();
    if (kept_.last_step > 0) tell_missing();
    return std::move(text_);
  }

  const HeaderLine& header() const { return *parser_.header(); }  // the last one, kept or not
  KeptRecord found() const { return {evaluation_, ranks_, seconds_, missing_}; }

 private:
  void take(std::string_view line) {
    const MetricsLine taken = parser_.take(line);
    if (!damage_.empty()) refuse_damaged();
    if (!std::visit([this](const auto& each) { return is_kept(each); }, taken)) return;
    if (std::holds_alternative<LostLines>(taken)) lost_.push_back(text_.size());
    const auto* const step = std::get_if<StepLine>(&taken);
    if (step || std::holds_alternative<EvaluationRecord>(taken)) take_attempts();
    if (step) take_step(*step);
    if (const auto* const header = std::get_if<HeaderLine>(&taken)) attempts_.push_back({*header, text_.size()});
    text_.append(line).push_back('\n');
  }

  void take_step(const StepLine& line) {
    steps_.take(line);
    const auto rank = static_cast<std::size_t>(line[StepLine::kRank]);
    seconds_.resize(std::max(seconds_.size(), rank + 1));
    seconds_[rank] = line[StepLine::kSeconds];
  }

  // Later headers must suit the ranks of these, as they have lines or a checkpoint.
  void take_attempts() {
    for (const Attempt& attempt : attempts_) {
      if (steps_.take(attempt.header)) std::erase_if(lost_, [&](std::size_t line) { return line < attempt.begin; });
      ranks_ = static_cast<int>(attempt.header.ranks.size());
      if (setting_in(attempt.header.config, "resume") == "elastic") seconds_.clear();
    }
    attempts_.clear();
  }

  // Drops each last header that no kept line follows, unless its ranks saved the checkpoint, or it is the first.
  void drop_attempts() {
    const auto is_dropped = [this](const Attempt& attempt) {
      return attempt.begin > 0 && std::cmp_not_equal(attempt.header.ranks.size(), kept_.ranks);
    };
    while (!attempts_.empty() && is_dropped(attempts_.back())) {
      text_.resize(attempts_.back().begin);
      attempts_.pop_back();
    }
    std::erase_if(lost_, [this](std::size_t line) { return line >= text_.size(); });
    take_attempts();
  }

  // Earlier lines of type "lost" also count steps that were taken again since, and a killed run wrote none.
  void tell_missing() {
    for (const std::size_t line : std::views::reverse(lost_)) text_.erase(line, text_.find('\n', line) + 1 - line);
    missing_ = steps_.count(kept_.last_step);
    if (missing_ > 0) text_ += to_line({{"type", "lost"}, {"lines", missing_}}) + "\n";
  }

  bool is_kept(const StepLine& line) const {
    const auto rank = static_cast<std::size_t>(line[StepLine::kRank]);
    const bool is_later = rank < kept_.steps.size() && line[StepLine::kStep] > static_cast<double>(kept_.steps[rank]);
    return !is_later && line[StepLine::kSamples] <= static_cast<double>(kept_.samples);
  }
  bool is_kept(const EvaluationRecord& evaluation) {
    const bool is_last = evaluation.samples == kept_.samples;
    if (is_last && !kept_.is_evaluated_again) evaluation_ = evaluation;
    return evaluation.samples < kept_.samples || (is_last && !kept_.is_evaluated_again);
  }
  bool is_kept(const RunSummary&) const { return false; }
  bool is_kept(const FailureLine&) const { return false; }
  bool is_kept(const HeaderLine&) const { return true; }
  bool is_kept(const LostLines&) const { return true; }
  bool is_kept(const OtherLine&) const { return true; }

  void note(const Json::exception& error) {
    if (!damage_.empty()) return;
    damage_ = "line " + std::to_string(lines_.number()) + " is damaged: " + why_unreadable(error);
  }

  [[noreturn]] void refuse_empty() const {
    throw Error(ExitCode::kBadData, path_.string() +
                                        ": it has no header, so somebody has emptied it. Restore the file from a copy, "
                                        "or begin the run anew with --overwrite");
  }

  [[noreturn]] void refuse_damaged() const {
    throw Error(ExitCode::kBadData, path_.string() + ": " + damage_ +
                                        ". Restore the file from a copy, or delete that line and lose its figures, "
                                        "then resume again");
  }

  struct Attempt {
    HeaderLine header;
    std::size_t begin;  // of its line in text_
  };

  const fs::path& path_;
  LineReader lines_;
  const KeptLines& kept_;
  MetricsParser parser_;
  std::optional<EvaluationRecord> evaluation_;
  std::string text_, damage_;
  std::vector<Attempt> attempts_;  // since the last step or evaluation
  int ranks_ = 0;                  // of the last header that is kept
  MissingSteps steps_;
  std::vector<double> seconds_;    // of each rank's last line
  std::vector<std::size_t> lost_;  // where the lines of type "lost" begin in text_, since the count began
  std::int64_t missing_ = 0;
};

}  // namespace

KeptRecord reopen_run_directory(const OutputFolder& run, const KeptLines& kept_lines) {
  const fs::path file = run.path() / kMetricsFile;
  if (!holds_run(run.path()))
    throw Error(ExitCode::kInputMissing, file.string() +
                                             " is missing; put it back from a copy, or begin the run anew with "
                                             "--overwrite");
  KeptReading reading(file, kept_lines);
  const std::string kept = reading.read();
  require_config_of_run(run.path(), reading.header().config, false);
  if (const Metric& metric = reading.header().metric; metric != kept_lines.metric) {
    throw Error(ExitCode::kBadData, file.string() + ": this run was judged by " + metric.name +
                                        ", and this version of eave judges it by " + kept_lines.metric.name +
                                        ": go on with the version that began it, or train anew in another --run-dir");
  }
  // These files describe a shorter run, and a summary would mark the run as ended. The resumed run writes new ones.
  for (const char* name : {kSummaryFile, "exchanges.order", "trace.json"}) remove_output(run / name);
  write_file_atomically(run / kMetricsFile, kept);
  return reading.found();
}

}  // namespace eave
