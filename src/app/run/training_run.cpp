#include "app/run/training_run.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "app/doctor/doctor_probes.h"
#include "app/main/launch.h"
#include "app/main/machine.h"
#include "app/main/rank_consistency.h"
#include "app/options/shared_options.h"
#include "app/resume/checkpoint_location.h"
#include "app/resume/resumption.h"
#include "app/run/rank_guard.h"
#include "app/run/run_reporter.h"
#include "app/run/run_settings.h"
#include "app/run/run_trace.h"
#include "app/run/training_job.h"
#include "base/files/directory_lock.h"
#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_transfer.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "report/record/config.h"
#include "report/record/reopened_run.h"
#include "report/record/run_directory.h"
#include "report/record/stragglers.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

void check_outputs(const OptionValues& values) {
  const auto refuse_if = [](bool is_useless, const std::string& option, const std::string& with) {
    if (is_useless) throw Error(ExitCode::kUsage, "--" + option + " has no effect " + with);
  };
  const bool has_none = !values.has("run-dir");
  for (const char* option : {"overwrite", "tensorboard"})
    refuse_if(has_none && values.flag(option), option, "without --run-dir");
  refuse_if(has_none && may_resume(values), "resume", "without --run-dir");
  refuse_if(values.flag("allow-changed-plugin") && !may_resume(values), "allow-changed-plugin", "without --resume");
  if (has_none && values.flag("trace"))
    throw Error(ExitCode::kUsage, "--trace needs --run-dir, where trace.json is to be written");
  for (const std::string option :
       {"checkpoint", "checkpoint-dir", "checkpoint-every", "keep", "keep-every", "require-checkpoint"}) {
    refuse_if(has_none && values.given(option), option, "without --run-dir");
    refuse_if(values.given(option) && option != "checkpoint" && !values.flag("checkpoint"), option,
              "with --checkpoint off");
  }
  if (may_resume(values) && !values.flag("checkpoint")) {
    throw Error(ExitCode::kUsage, "--resume and --checkpoint off contradict each other; give one");
  }
  check_rollback(values);
  // At the first start already: a job that leaves with 75 must not be refused when it is started again.
  if (may_resume(values) && values.has("replay"))
    refuse_option(values, "replay",
                  "cannot be combined with --resume: a log covers a whole run; leave it out to go on in free order");
  refuse_output_among_data(values);
  if (values.flag("overwrite") && may_resume(values)) {
    throw Error(ExitCode::kUsage, "--overwrite and --resume contradict each other; give one");
  }
}

class TrainingRun {
 public:
  TrainingRun(const CommandLine& line, const OptionValues& values, CountingTransport& transport,
              const DevicePlan& device, const TrainingContext& context, RunTrace* trace, RankGuard& guard)
      : line_(line),
        values_(values),
        transport_(transport),
        context_(context),
        trace_(trace),
        guard_(guard),
        checkpoint_directory_(values) {
    // This comes first: the files of an earlier run must not be read while another process still writes there.
    agree(transport, [&] {
      if (is_first() && values_.has("run-dir") && holds_run(values_.text("run-dir"))) lock();
      if (is_first()) checkpoint_directory_.lock_existing();
    });
    resumption_ = find_resumption(transport, values);
    CheckedSamples checked = check_data();
    agree(transport, [&] {
      job_ = std::make_unique<TrainingJob>(values, transport, transport, guard_.hosts(), device,
                                           resumption_ ? &*resumption_ : nullptr, std::move(checked));
    });
    if (resumption_) check_resumption();
    job_->note_settings(text_of_settings(line.config_in_force(values)));
    if (context.is_part) {
      job_->diverge_together();
    } else {
      job_->warn_of_lone_rank();  // a comparison gives the same options to its runs of one rank
    }
    if (context.trial_steps > 0) job_->shorten(context.trial_steps);
    if (context.rollbacks > 0) job_->forget_fault();
    const TrainingParts parts = job_->parts();
    require_same_training(transport, parts.replica.model, parts.data);
    job_->attach_device();
    agree(transport, [&] {
      if (is_first()) prepare_directory();
    });
    if (keeps_checkpoints()) find_access_to_directory();
    // A separate agreement: an earlier run is replaced only if no rank has found an obstacle for this one.
    agree(transport, [&] {
      if (is_first()) prepare_outputs();
    });
  }

  RunSummary run() {
    announce();
    TrainingParts parts = job_->parts();
    parts.rank_progress = &guard_.rank_progress();
    parts.leave = guard_.leave();
    if (trace_) {
      parts.trace = trace_->computing();
      trace_->begin(transport_);
    }
    const TrainingResult result = train_or_tell(parts);
    std::optional<double> overlap;
    if (trace_) overlap = trace_->end(transport_, guard_.hosts());
    const ExchangeReport report = job_->parts().communicator.report();
    if (values_.has("run-dir")) save_results(report.order);
    RunSummary summary = summarise(values_, transport_, job_->parts().sampler.ranks(), result);
    if (is_first()) add_language_measures(summary, job_->parts(), values_);
    summary.overlap = overlap;
    summary.rollbacks = context_.rollbacks;
    summary.exchanges = report.exchanges;
    summary.staleness = report.staleness;
    while (!summary.staleness.empty() && summary.staleness.back() == 0) summary.staleness.pop_back();
    if (reporter_) summary.times_of_ranks = reporter_->stragglers().times();
    if (is_first()) finish(summary);
    if (is_first() && result.checkpoints == 0 && result.lost_checkpoints > 0) {
      unkept_.emplace(ExitCode::kInputOutput,
                      (unkept_ ? unkept_->what() + std::string("; ") : "") + "no checkpoint of this run could be " +
                          "written (" + std::to_string(result.lost_checkpoints) + " tried, see the warnings)");
    }
    if (is_first() && !context_.is_part && report.order_is_too_long) {
      std::puts("the order of exchanges was not kept, for it has more than 64 MiB: this run cannot be replayed");
    }
    agree(transport_, [&] {
      if (unkept_) throw *unkept_;
    });
    return summary;
  }

 private:
  // Writes a result, and returns whether it could be written. After a failure the other results are still tried.
  bool keep(const std::function<void()>& write) {
    try {
      write();
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::kInputOutput && error.code() != ExitCode::kCannotCreate) throw;
      unkept_.emplace(ExitCode::kInputOutput, (unkept_ ? unkept_->what() + std::string("; ") : "") + error.what());
      return false;
    }
  }

  // The same for a result in the run's directory, which may be another run's by now. Not collective.
  void keep_in_place(const std::function<void()>& write) {
    if (has_place_) has_place_ = keep([&] { require_same_directory(); });
    if (has_place_) keep(write);
  }

  // Collective, though only rank 0 writes.
  void save_results(const std::string& order) {
    has_place_ = is_whole_ = keep([&] { require_same_directory(); });
    if (!transport_.broadcast_text(has_place_ ? "" : "lost").empty()) return;
    is_whole_ = keep([&] { job_->save_model(folder() / "model.safetensors"); });
    if (job_->has_average()) is_whole_ = keep([&] { job_->save_average(folder() / "ema.safetensors"); }) && is_whole_;
    if (!order.empty()) keep_in_place([&] { write_file_atomically(folder() / "exchanges.order", order); });
  }

  TrainingResult train_or_tell(const TrainingParts& parts) {
    try {
      TrainingEvents events = reporter_ ? reporter_->events() : TrainingEvents();
      events.require_directory = [this] {
        require_same_directory();
        checkpoint_directory_.require_same();
      };
      if (!context_.is_part) events.nonfinite = [this](const NonfiniteStep& step) { warn_of(step); };
      return train(parts, job_->plan(), events);
    } catch (const Error& error) {
      if (reporter_) reporter_->failure(error);
      throw;
    }
  }

  // Warns on the rank that has the fault. A fault that all ranks have is printed once.
  void warn_of(const NonfiniteStep& step) {
    const auto rank = static_cast<std::size_t>(transport_.rank());
    const bool averages = job_->parts().traits.averages_gradients, is_of_all = !step.is_of_loss && averages;
    if (is_of_all && !is_first()) return;
    const std::string who = is_of_all ? "" : "rank " + std::to_string(rank) + " on " + guard_.hosts()[rank] + ": ";
    const std::string after =
        is_of_all && transport_.size() > 1
            ? " after the sum over all ranks (if the loss of one was the cause, that rank says so)"
            : "";
    const std::string text = who + "the " + (step.is_of_loss ? "loss" : "gradient") + " of step " +
                             std::to_string(step.step) + " is not finite" + after + "; eave leaves out " +
                             (!step.is_of_loss ? "what it would make non-finite"
                              : averages       ? "the step on all ranks"
                                               : "this rank's batch") +
                             " (--on-nonfinite skip). Later ones are counted without a message";
    if (reporter_) return reporter_->warn(text);
    print_warning(text);
  }

  // Collective. A resumed run, and the next run of a comparison, reuse the result of an earlier check.
  CheckedSamples check_data() {
    CheckedSamples checked = context_.checked ? *context_.checked : CheckedSamples();
    if (resumption_) checked = checked_in(resumption_->found.manifest.notes);
    checked = check_samples(transport_, guard_.hosts(), values_, checked, [&] { guard_.rank_progress().move(); });
    if (context_.checked) *context_.checked = checked;
    return checked;
  }

  // Collective. The options come first: a message that names one tells more than a message about vectors.
  void check_resumption() {
    agree(transport_, [&] {
      if (!is_first()) return;
      const auto mine = line_.config_in_force(values_);
      require_same_settings(with_later_options(read_config(file("config.json")), mine, line_.declared()), mine);
      require_own_checkpoint(mine);
    });
    agree(transport_, [&] { job_->check_resumption(); });
  }

  // Somebody may have put another run's checkpoints into this run's directory.
  void require_own_checkpoint(const std::map<std::string, std::string>& mine) const {
    const Manifest& saved = resumption_->found.manifest;
    const auto note = saved.notes.find(kSettings);
    if (note == saved.notes.end()) return;
    require_settings_of_checkpoint(checkpoint_path(checkpoint_directory(values_), saved.step),
                                   with_later_options(settings_in(note->second), mine, line_.declared()), mine);
  }

  bool is_first() const { return transport_.rank() == 0; }
  std::string file(const std::string& name) const { return std::filesystem::path(values_.text("run-dir")) / name; }

  // Symbolic links are followed only in the part of the path that a person gave.
  OutputFolder folder() const {
    const std::filesystem::path directory = values_.text("run-dir");
    if (context_.output.empty()) return directory;
    return OutputFolder(context_.output).below(directory.lexically_relative(context_.output));
  }

  // On rank 0. Another run may have moved this run's directory away, and begun in its place.
  void require_same_directory() const {
    if (lock_) eave::require_same_directory(*lock_, "--run-dir " + values_.text("run-dir"));
  }

  void lock() {
    lock_.emplace(folder(), kRunLock, "--run-dir " + values_.text("run-dir"), DirectoryLock::kPatience, print_warning);
  }

  // Locks a directory that had no run. Another run may have begun there since, and even ended. This run has read
  // nothing of it, so it may not replace it.
  void lock_what_had_no_run() {
    lock();
    if (!holds_run(values_.text("run-dir"))) return;
    throw Error(ExitCode::kCannotCreate, "--run-dir " + values_.text("run-dir") +
                                             ": another run began in it while this one started; give the same command "
                                             "again" +
                                             (may_begin_anew(values_) ? ", which goes on with that run" : ""));
  }

  bool replaces() const {
    const bool was_cut_short = may_begin_anew(values_) && state_of_run(values_.text("run-dir")) == RunState::kBegun;
    return values_.flag("overwrite") || was_cut_short;
  }

  void prepare_directory() {
    if (values_.has("run-dir") && !resumption_) create_run_directory(folder(), replaces());
    checkpoint_directory_.create(!resumption_, replaces());
  }

  bool keeps_checkpoints() const { return values_.has("run-dir") && values_.flag("checkpoint"); }

  // Collective, once the directory exists. Each rank that sees it writes its part of a checkpoint.
  void find_access_to_directory() {
    const std::filesystem::path directory = directory_to_access(values_);
    ranks_without_access_ =
        resumption_ ? resumption_->ranks_without_access : find_ranks_without_access(transport_, directory);
    job_->set_ranks_without_access(ranks_without_access_);
    agree(transport_, [&] {
      if (!lacks_access(ranks_without_access_, transport_.rank()))
        require_writable(directory, option_to_access(values_));
    });
  }

  void prepare_outputs() {
    reporter_ = std::make_unique<RunReporter>(values_, job_->parts().traits, job_->parts().sampler.ranks(),
                                              job_->plan().steps, job_->epochs());
    if (!values_.has("run-dir")) return;
    const bool is_replaced = replaces();
    if (!lock_) lock_what_had_no_run();
    remove_stale_marks(directory_to_access(values_));
    if (resumption_) {
      missing_lines_ = reopen_run_directory(folder(), what_is_kept()).missing;
    } else {
      if (is_replaced) checkpoint_directory_.clear();
      prepare_run_directory(folder(), is_replaced);
    }
    checkpoint_directory_.write_owner();
    reporter_->open(folder());
    write_config(folder() / "config.json", line_.config_in_force(values_));
  }

  KeptLines what_is_kept() const {
    const TrainingPlan& plan = job_->plan();
    return {.samples = resumption_->found.manifest.samples,
            .is_evaluated_again = plan.has_ended || plan.first_step == plan.steps,
            .metric = metric_of(job_->parts().data),
            .last_step = resumption_->found.manifest.step,
            .ranks = static_cast<int>(resumption_->found.manifest.files.size())};
  }

  void announce() {
    const std::vector<RankFacts> ranks = gather_facts(transport_, job_->facts());
    std::vector<std::string> stale_files;
    if (!context_.is_part) stale_files = gather_stale_files(transport_, guard_.hosts());
    if (!is_first()) return;
    const ExchangePattern exchanges = job_->parts().traits.exchanges;
    std::vector<std::string> warnings = job_->warnings();
    warnings.insert(warnings.end(), stale_files.begin(), stale_files.end());
    if (lock_ && lock_->former()) {
      warnings.push_back("--run-dir " + values_.text("run-dir") + ": took over the lock of a run that ended without " +
                         "freeing it (" + lock_->former()->describe() + ")");
    }
    if (missing_lines_ > 0) {
      warnings.push_back("metrics.jsonl lacks " + count_text(missing_lines_, "step line") +
                         " from before the checkpoint, because the disk was full or somebody cut the file");
    }
    if (!ranks_without_access_.empty()) {
      warnings.push_back(
          describe_ranks_without_access(ranks_without_access_, guard_.hosts(), option_to_access(values_)) +
          ": their checkpoints go through rank 0, and training waits meanwhile");
    }
    for (const std::string& warning : describe_ranks(ranks, static_cast<int>(values_.integer("threads", 1)))) {
      warnings.push_back(warning);
    }
    if (const std::string useless = describe_useless_link(transport_, exchanges); !useless.empty())
      warnings.push_back(useless);
    for (std::string& warning : warnings) warning = printable(warning);
    if (!job_->left_out().empty()) warnings.insert(warnings.begin(), job_->left_out());
    if (!context_.is_part) {
      std::printf("%s\n%s\n", printable_lines(rank_table(ranks)).c_str(), printable_lines(job_->describe()).c_str());
      std::fflush(stdout);
      for (const std::string& warning : warnings)
        std::fprintf(stderr, "eave: warning: %s\n", printable_lines(warning).c_str());
    } else if (context_.warnings) {
      *context_.warnings = warnings;
    }
    RunHeader header = job_->header();
    header.config = line_.config_in_force(values_);
    header.ranks = ranks;
    reporter_->header(header);
  }

  void finish(const RunSummary& summary) {
    if (trace_) keep_in_place([&] { trace_->write(folder() / "trace.json"); });
    // A run without its model has not ended, and a resumed run must be able to tell.
    if (!is_whole_) reporter_->failure(*unkept_);
    if (is_whole_) keep([&] { reporter_->end(summary); });
    if (is_whole_ && values_.has("run-dir")) keep_in_place([&] { write_summary(folder() / "summary.json", summary); });
    if (context_.is_part) return;
    std::printf("\n%s%s%s%s", summary_table({summary}).c_str(), job_->describe_stop(summary).c_str(),
                describe_totals(summary, resumption_.has_value()).c_str(),
                describe_stragglers(reporter_->stragglers(), guard_.hosts(), job_->plan().log_every_steps).c_str());
    if (summary.overlap) std::printf("%.0f %% of communication ran behind computing\n", 100 * *summary.overlap);
    if (values_.has("run-dir") && !unkept_) std::printf("results in %s\n", printable(values_.text("run-dir")).c_str());
    std::fflush(stdout);
  }

  const CommandLine& line_;
  const OptionValues& values_;
  Transport& transport_;
  const TrainingContext& context_;
  RunTrace* const trace_;  // nullptr without --trace
  RankGuard& guard_;
  std::optional<DirectoryLock> lock_;              // held by rank 0; released last
  OwnedCheckpointDirectory checkpoint_directory_;  // used by rank 0
  std::optional<Resumption> resumption_;
  std::vector<int> ranks_without_access_;
  std::int64_t missing_lines_ = 0;  // step lines that the resumed run's metrics.jsonl lacks
  std::unique_ptr<TrainingJob> job_;
  std::unique_ptr<RunReporter> reporter_;
  bool has_place_ = true;        // the directory for results is still this run's
  bool is_whole_ = true;         // the model was written, or there is none to write
  std::optional<Error> unkept_;  // results that could not be written
};

RunSummary train_with_rollback(
    Transport& transport, const OptionValues& values, TrainingContext context,
    const std::function<RunSummary(const OptionValues& values, const TrainingContext& context)>& run) {
  for (Rollback rollback(transport, values);; context.rollbacks = rollback.times()) {
    try {
      return run(rollback.values(), context);
    } catch (const AgreedError& error) {
      if (!rollback.goes_back(error)) throw;
    }
  }
}

}  // namespace

RunSummary run_training(Transport& bare, const CommandLine& line, const OptionValues& given,
                        const TrainingContext& context) {
  // Comes first, as in refuse_to_run: a rank that could not read its options meets the other ranks in this agreement.
  agree(bare, [&] { check_outputs(given); });
  OptionValues values = context.trial_steps > 0 ? without_files(given) : given;
  settle_checkpoint_directory(bare, values);
  RankGuard guard(bare, values, context.is_part, context.progress);
  const DevicePlan device = choose_device(bare, values);
  const std::unique_ptr<Transport> nccl = make_nccl_link(bare, values, device);
  Transport& link = nccl ? *nccl : bare;
  guard.rank_progress().device_calls().show(link.device_calls(), context.is_part);
  const std::unique_ptr<Transport> shaped = make_shaped_link(link, values);
  std::optional<RunTrace> trace;
  if (values.flag("trace")) trace.emplace(bare.size());
  const std::unique_ptr<CountingTransport> counting =
      make_counting_transport(shaped ? *shaped : link, trace ? trace->communication() : nullptr);
  try {
    const RunSummary summary =
        train_with_rollback(*counting, values, context, [&](const OptionValues& now, const TrainingContext& of_run) {
          return TrainingRun(line, now, *counting, device, of_run, trace ? &*trace : nullptr, guard).run();
        });
    guard.finish();
    return summary;
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    guard.explain(error);
    throw;
  }
}

}  // namespace eave
