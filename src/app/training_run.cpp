#include "app/training_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/machine.h"
#include "app/network_options.h"
#include "app/rank_facts.h"
#include "app/run_reporter.h"
#include "app/run_settings.h"
#include "app/run_trace.h"
#include "app/training_job.h"
#include "base/files.h"
#include "base/host.h"
#include "report/config.h"
#include "report/run_directory.h"
#include "report/stragglers.h"
#include "report/summary.h"

namespace eave {
namespace {

RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result) {
  const auto ranks = static_cast<std::size_t>(transport.size()), workers = static_cast<std::size_t>(count_of_workers);
  const auto rank = static_cast<std::size_t>(transport.rank());
  std::vector<double> table(4 * ranks);
  table[4 * rank] = result.progress.seconds;
  table[4 * rank + 1] = result.progress.waiting / result.progress.seconds;
  table[4 * rank + 2] = static_cast<double>(result.progress.bytes);
  table[4 * rank + 3] = static_cast<double>(peak_memory_bytes());
  table = sum_over_ranks(transport, table);
  RunSummary summary;
  summary.communicator = values.text("communicator");
  summary.model = values.text("model");
  summary.data = values.text("data");
  summary.ranks = transport.size();
  summary.workers = count_of_workers;
  summary.steps = result.progress.steps;
  summary.epochs = result.evaluation.epoch;
  summary.samples = result.progress.samples;
  for (std::size_t i = 0; i < ranks; ++i) {
    summary.seconds = std::max(summary.seconds, table[4 * i]);
    if (i < workers) summary.waiting_share += table[4 * i + 1] / static_cast<double>(workers);
    summary.bytes_per_rank = std::max(summary.bytes_per_rank, static_cast<std::int64_t>(table[4 * i + 2]));
    summary.peak_memory_bytes = std::max(summary.peak_memory_bytes, static_cast<std::int64_t>(table[4 * i + 3]));
  }
  summary.samples_per_second = static_cast<double>(result.progress.samples) / summary.seconds;
  summary.evaluation = result.evaluation;
  return summary;
}

// How many exchanges of others lay between two of a worker: median and largest.
std::string describe_staleness(const RunSummary& summary) {
  std::int64_t all = 0, below = 0, median = -1, largest = 0;
  for (const std::int64_t count : summary.staleness) all += count;
  if (all == 0) return "";
  for (std::size_t k = 0; k < summary.staleness.size(); ++k) {
    if (summary.staleness[k] == 0) continue;
    below += summary.staleness[k];
    if (median < 0 && 2 * below >= all) median = static_cast<std::int64_t>(k);
    largest = static_cast<std::int64_t>(k);
  }
  return std::to_string(summary.exchanges) +
         " exchanges of each worker; staleness, exchanges of others between two of a " + "worker: median " +
         std::to_string(median) + ", largest " + std::to_string(largest) + "\n";
}

void check_outputs(const OptionValues& values) {
  for (const std::string option : {"overwrite", "resume", "tensorboard"}) {
    if (values.flag(option) && !values.has("run-dir")) {
      throw Error(ExitCode::kUsage, "--" + option + " has no effect without --run-dir");
    }
  }
  if (values.flag("trace") && !values.has("run-dir")) {
    throw Error(ExitCode::kUsage, "--trace needs --run-dir, where trace.json is to be written");
  }
  if (values.given("checkpoint") && !values.has("run-dir")) {
    throw Error(ExitCode::kUsage, "--checkpoint has no effect without --run-dir");
  }
  if (values.flag("resume") && !values.flag("checkpoint")) {
    throw Error(ExitCode::kUsage, "--resume and --checkpoint off contradict each other; give one");
  }
  if (values.flag("overwrite") && values.flag("resume")) {
    throw Error(ExitCode::kUsage, "--overwrite and --resume contradict each other; give one");
  }
}

class TrainingRun {
 public:
  TrainingRun(const CommandLine& line, const OptionValues& values, CountingTransport& transport,
              const DevicePlan& device, const TrainingPlace& place, RunTrace* trace)
      : line_(line), values_(values), transport_(transport), place_(place), trace_(trace) {
    hosts_ = transport.all_gather(host_name());
    agree(transport, [&] { job_ = std::make_unique<TrainingJob>(values, transport, transport, hosts_, device); });
    if (place.is_part) job_->diverge_together();
    job_->attach_device();
    // By itself: an earlier run is replaced only when nothing stands in the way of this one on any rank.
    agree(transport, [&] {
      if (is_first()) prepare_outputs();
    });
  }

  RunSummary run() {
    announce();
    TrainingParts parts = job_->parts();
    if (trace_) {
      parts.trace = trace_->computing();
      trace_->begin(transport_);
    }
    const TrainingResult result = train_or_tell(parts);
    std::optional<double> overlap;
    if (trace_) overlap = trace_->end(transport_, hosts_, file("trace.json"));
    if (values_.has("run-dir")) job_->save_model(file("model.safetensors"));
    const ExchangeReport report = job_->parts().communicator.report();
    if (values_.has("run-dir") && !report.order.empty()) write_file_atomically(file("exchanges.order"), report.order);
    RunSummary summary = summarise(values_, transport_, job_->parts().sampler.ranks(), result);
    summary.overlap = overlap;
    summary.exchanges = report.exchanges;
    summary.staleness = report.staleness;
    while (!summary.staleness.empty() && summary.staleness.back() == 0) summary.staleness.pop_back();
    if (reporter_) summary.times_of_ranks = reporter_->stragglers().times();
    if (is_first()) finish(summary);
    if (is_first() && !place_.is_part && report.order_is_too_long) {
      std::puts("the order of exchanges was not kept, for it has more than 64 MiB: this run cannot be replayed");
    }
    return summary;
  }

 private:
  TrainingResult train_or_tell(const TrainingParts& parts) {
    try {
      return train(parts, job_->plan(), reporter_ ? reporter_->events() : TrainingEvents());
    } catch (const Error& error) {
      if (reporter_) reporter_->failure(error);
      throw;
    }
  }

  bool is_first() const { return transport_.rank() == 0; }
  std::string file(const std::string& name) const { return std::filesystem::path(values_.text("run-dir")) / name; }

  void prepare_outputs() {
    reporter_ = std::make_unique<RunReporter>(values_, job_->parts().traits, job_->parts().sampler.ranks(),
                                              job_->plan().steps, job_->epochs());
    if (!values_.has("run-dir")) return;
    if (values_.flag("resume")) {
      require_same_settings(read_config(file("config.json")), line_.config_in_force(values_));
      reopen_run_directory(values_.text("run-dir"), job_->plan().first_step);
    } else {
      prepare_run_directory(values_.text("run-dir"), values_.flag("overwrite"));
    }
    reporter_->open(values_.text("run-dir"));
    write_config(file("config.json"), line_.config_in_force(values_));
  }

  void announce() {
    const std::vector<RankFacts> ranks = gather_facts(transport_, job_->facts());
    if (!is_first()) return;
    std::vector<std::string> warnings = job_->warnings();
    for (const std::string& warning : describe_ranks(ranks, static_cast<int>(values_.integer("threads", 1)))) {
      warnings.push_back(warning);
    }
    if (const std::string useless = describe_useless_link(transport_); !useless.empty()) warnings.push_back(useless);
    if (!place_.is_part) {
      std::printf("%s\n%s\n", rank_table(ranks).c_str(), job_->describe().c_str());
      std::fflush(stdout);
      for (const std::string& warning : warnings) std::fprintf(stderr, "eave: warning: %s\n", warning.c_str());
    } else if (place_.warnings) {
      *place_.warnings = warnings;
    }
    RunHeader header = job_->header();
    header.config = line_.config_in_force(values_);
    header.ranks = ranks;
    reporter_->header(header);
  }

  void finish(const RunSummary& summary) {
    reporter_->end(summary);
    if (values_.has("run-dir")) write_summary(file("summary.json"), summary);
    if (place_.is_part) return;
    std::printf("\n%s%s%s%s", summary_table({summary}).c_str(), job_->describe_stop(summary).c_str(),
                describe_staleness(summary).c_str(),
                describe_stragglers(reporter_->stragglers(), hosts_, job_->plan().log_every_steps).c_str());
    if (summary.overlap) std::printf("%.0f %% of communication ran behind computing\n", 100 * *summary.overlap);
    if (values_.has("run-dir")) std::printf("results in %s\n", values_.text("run-dir").c_str());
    std::fflush(stdout);
  }

  const CommandLine& line_;
  const OptionValues& values_;
  Transport& transport_;
  const TrainingPlace& place_;
  RunTrace* const trace_;           // nullptr without --trace
  std::vector<std::string> hosts_;  // of every rank
  std::unique_ptr<TrainingJob> job_;
  std::unique_ptr<RunReporter> reporter_;
};

}  // namespace

RunSummary run_training(Transport& bare, const CommandLine& line, const OptionValues& values,
                        const TrainingPlace& place) {
  // First of all, as in refuse_to_run.
  agree(bare, [&] { check_outputs(values); });
  const DevicePlan device = choose_device(bare, values);
  const std::unique_ptr<Transport> nccl = make_nccl_link(bare, values, device);
  Transport& link = nccl ? *nccl : bare;
  const std::unique_ptr<Transport> shaped = make_shaped_link(link, values);
  std::optional<RunTrace> trace;
  if (values.flag("trace")) trace.emplace(bare.size());
  const std::unique_ptr<CountingTransport> counting =
      make_counting_transport(shaped ? *shaped : link, trace ? trace->communication() : nullptr);
  return TrainingRun(line, values, *counting, device, place, trace ? &*trace : nullptr).run();
}

}  // namespace eave
