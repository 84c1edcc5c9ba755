#include "report/record/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ranges>
#include <system_error>
#include <utility>
#include <variant>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
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
#include "report/record/tensorboard.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCallsFile = "calls-rank-";  // written by the watchdog when it ends a run
constexpr const char *kMetrics = "metrics.jsonl", *kSummaryFile = "summary.json", *kModel = "model.safetensors";
constexpr std::array kRunFiles = {"config.json",     kSummaryFile,      kModel,
                                  "ema.safetensors", "exchanges.order", "trace.json"};

[[noreturn]] void refuse(const OutputFolder& run, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + run.path().string() + ": " + why);
}

std::vector<std::string> names_of(const OutputFolder& folder) {
  int error = 0;
  return names_in(folder, error);
}

// Whether a file may be left over from a run that ended during its start. Such files hold no results.
bool is_remnant(const OutputFolder& run, const std::string& name) {
  if (name == kCheckpoints) {
    int error = 0;
    const std::vector<std::string> inside = names_in(run.below(kCheckpoints), error);
    return error == 0 && std::ranges::all_of(inside, [](const auto& each) { return each.ends_with(".partial"); });
  }
  return name.starts_with(kRunLock) || name == "metrics.jsonl.partial" || name == "config.json.partial" ||
         name.starts_with(kCallsFile);
}

bool has_nothing(const OutputFolder& run) {
  int error = 0;
  const std::vector<std::string> names = names_in(run, error);
  return (error == 0 || error == ENOENT) &&
         std::ranges::all_of(names, [&](const auto& name) { return is_remnant(run, name); });
}

// The files of an earlier run in this directory. Other programs' files are not included.
std::vector<OutputPath> files_of_run(const OutputFolder& run) {
  std::vector<OutputPath> files;
  for (const char* name : kRunFiles) files.push_back(run / name);
  // The new run's curves must not mix with those of the overwritten run.
  for (const std::string& name : names_of(run)) {
    const bool is_curve = name.starts_with(kEventFile) && name.find(kEventFileOfEave) != std::string::npos;
    if (is_curve || name.starts_with(kCallsFile)) files.push_back(run / name);
  }
  files.push_back(run / kMetrics);  // last: it marks a run, also one that is half removed
  return files;
}

void require_free(const OutputFolder& run, bool overwrite) {
  if (has_nothing(run)) return;
  int error = 0;
  names_in(run, error);
  if (error != 0) refuse(run, "cannot be looked into: " + words_of_error(error));
  if (!overwrite) {
    refuse(run,
           "is not empty; choose another directory, or give --resume to go on with the run in it, --overwrite to "
           "replace it");
  }
  if (!holds_run(run.path())) {
    refuse(run, "holds files, but no run that --overwrite could replace; choose another directory");
  }
}

// A directory with the name of one of eave's files belongs to another program, and so does its content.
void require_no_directories(const OutputFolder& run) {
  for (const OutputPath& file : files_of_run(run)) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(file.string(), error))) continue;
    refuse(run, "holds a directory " + fs::path(file.string()).filename().string() +
                    " where eave writes a file; move it away, or choose another directory");
  }
}

void remove_all(const std::vector<OutputPath>& files, const std::string& what) {
  for (const OutputPath& file : files) {
    if (remove_tree(file)) continue;
    throw Error(ExitCode::kCannotCreate, what + ": cannot remove " + file.string() + ": " + words_of_error(errno));
  }
}

// Whether a program with a training loop of its own made the run. It keeps its model itself.
bool is_of_program(const fs::path& path) {
  try {
    return read_config(path / "config.json").contains("program");
  } catch (const Error&) {
    return false;
  }
}

// The last line of metrics.jsonl as JSON; not an object if that line is none.
Json last_object(const fs::path& path) {
  constexpr std::size_t kMost = 4096;
  return parse_json_or_discard(last_line(path / kMetrics, kMost));
}

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

bool holds_run(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / kMetrics, error);
}

std::vector<fs::path> runs_below(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (holds_run(entry->path())) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

bool is_file_of_run(const fs::path& path) {
  const std::string name = path.filename().string();
  return (name == kMetrics || name == kRunLock || std::ranges::find(kRunFiles, name) != kRunFiles.end()) &&
         holds_run(path.parent_path());
}

void require_run_files(const fs::path& path) {
  for (const char* name : {"config.json", kMetrics, kSummaryFile, kModel}) require_regular(path / name);
}

void create_run_directory(const OutputFolder& run, bool overwrite) {
  const std::string what = "--run-dir " + run.path().string();
  make_named_directory(run.named(), what);
  if (!run.chosen().empty()) make_directory(run);
  // has_nothing comes first. If it sees files of a run that begins here meanwhile, holds_run then finds that run, and
  // its lock decides.
  if (has_nothing(run) || holds_run(run.path())) return;
  require_free(run, overwrite);
}

std::string why_no_directory_of_run(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "";
  if (fs::is_regular_file(status)) {
    const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return "it is a file; give the run's directory" + (holds_run(above) ? ", " + above.string() : "");
  }
  if (!fs::exists(fs::symlink_status(path, error))) return "there is no such directory; check the path";
  return why_no_file(path);
}

void refuse_link_of_checkpoints(const OutputFolder& run) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(run.path() / kCheckpoints, error);
  if (!fs::exists(status) || fs::is_directory(status)) return;
  if (!fs::is_symlink(status))
    refuse(run,
           "it has a file named 'checkpoint' where the directory of checkpoints would be; move the file, or choose "
           "another run directory");
  const fs::path link = run.path() / kCheckpoints;
  refuse(run, "its 'checkpoint' is a symbolic link, and eave writes no checkpoints through a link. " +
                  (fs::exists(link, error) ? "Give --checkpoint-dir " + fs::canonical(link, error).string() +
                                                 " to keep this run's checkpoints there"
                                           : "It leads to " + fs::read_symlink(link, error).string() +
                                                 ", which is not there: mount that disk if it is one, and give that "
                                                 "directory to --checkpoint-dir; or remove the link"));
}

void require_writable(const fs::path& path, const std::string& what) {
  // Only permissions are checked. Another host may see a new directory some seconds late, so a missing one is no error.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0 || errno == ENOENT) return;
  throw Error(ExitCode::kCannotCreate, what + ": cannot be written to: " + words_of_error(errno) +
                                           "; every rank writes its part of a checkpoint there (--checkpoint off: "
                                           "none)");
}

// The new run would seem to have the checkpoints of the former one. eave deletes nothing through a link.
void refuse_linked_checkpoints(const OutputFolder& run) {
  if (!is_link(run / kCheckpoints)) return;
  const fs::path link = run.path() / kCheckpoints;
  std::error_code error;
  for (fs::directory_iterator each(link, error), end; !error && each != end; each.increment(error)) {
    if (!each->path().filename().string().starts_with("step-")) continue;
    refuse(run, "its 'checkpoint' is a symbolic link to " + fs::canonical(link, error).string() +
                    ", which holds checkpoints of the run that this one replaces, and eave deletes nothing through a "
                    "link; remove the link or these checkpoints");
  }
}

void prepare_run_directory(const OutputFolder& run, bool overwrite) {
  require_free(run, overwrite);
  require_no_directories(run);
  refuse_linked_checkpoints(run);
  const std::string what = "--run-dir " + run.path().string();
  if (!is_link(run / kCheckpoints)) remove_checkpoints(run.below(kCheckpoints), what);
  remove_all(files_of_run(run), what);
  write_file_atomically(run / kMetrics, "");
}

void remove_checkpoints(const OutputFolder& checkpoints, const std::string& what) {
  std::vector<OutputPath> files;
  for (const std::string& name : names_of(checkpoints)) {
    if (name.starts_with("step-")) files.push_back(checkpoints / name);
  }
  remove_all(files, what);
}

bool holds_checkpoints(const OutputFolder& run) {
  const std::vector<std::string> names = names_of(run.below(kCheckpoints));
  return std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("step-"); });
}

std::int64_t recorded_steps(const fs::path& run) {
  constexpr std::string_view kType = R"({"type":"step",)", kStep = R"("step":)";
  std::int64_t steps = 0;
  try {
    LineReader lines(run / kMetrics);
    for (std::string_view line; lines.next(line);) {
      const std::size_t at = line.starts_with(kType) ? line.find(kStep, kType.size() - 1) : line.npos;
      std::int64_t step = 0;
      if (at != line.npos) std::from_chars(line.data() + at + kStep.size(), line.data() + line.size(), step);
      steps = std::max(steps, step);
    }
  } catch (const Error&) {
    // A file that is missing or damaged has no more.
  }
  return steps;
}

KeptRecord reopen_run_directory(const OutputFolder& run, const KeptLines& kept_lines) {
  const fs::path file = run.path() / kMetrics;
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
  write_file_atomically(run / kMetrics, kept);
  return reading.found();
}

RunState state_of_run(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / kSummaryFile, error) && (fs::exists(path / kModel, error) || is_of_program(path)))
    return RunState::kFinished;
  if (!fs::exists(path / kMetrics, error)) return RunState::kNone;
  const Json line = last_object(path);
  const bool has_failed = line.is_object() && line.contains("type") && line["type"] == "failure";
  const bool has_diverged =
      has_failed && line.contains("code") && line["code"] == static_cast<int>(ExitCode::kDiverged);
  return has_diverged ? RunState::kDiverged : RunState::kBegun;
}

std::string failure_of_run(const fs::path& path) {
  const Json line = last_object(path);
  if (!line.is_object() || !line.contains("message") || !line["message"].is_string()) return "";
  return line["message"];
}

}  // namespace eave
