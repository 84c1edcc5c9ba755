// Builds one rank's part of `eave train` from the options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/main/devices.h"
#include "app/resume/model_file.h"
#include "app/resume/resumption.h"
#include "app/run/run_length.h"
#include "app/run/sample_check.h"
#include "eave/decorators.h"
#include "eave/options.h"
#include "eave/trainer.h"
#include "eave/transport.h"
#include "report/record/metrics_writer.h"

namespace eave {

// Everything of one rank that options describe, opened and checked before training: dataset, model, optimizer,
// communicator. Functions are not collective unless they say so, and throw Error.
class TrainingJob {
 public:
  // `hosts`: the host of every rank. `device`: of this rank. `resumption`: nullptr for a run that begins. `checked`:
  // the same on all ranks; its bad samples are left out.
  TrainingJob(const OptionValues& values, Transport& transport, const CountingTransport& counting,
              const std::vector<std::string>& hosts, const DevicePlan& device, const Resumption* resumption,
              CheckedSamples checked);
  ~TrainingJob();

  // Collective; call it once, before training. Makes the device's memory accessible to the transport.
  void attach_device();

  void set_ranks_without_access(const std::vector<int>& ranks) { plan_.checkpoints.ranks_without_access = ranks; }
  // `text`: the note kSettings of each checkpoint.
  void note_settings(const std::string& text) { plan_.checkpoints.notes[kSettings] = text; }
  // For a trial: ends the run after so many steps, with an evaluation only there.
  void shorten(std::int64_t steps);
  void diverge_together() { plan_.diverges_together = true; }
  void forget_fault() { plan_.fault = {}; }  // it was injected before the rollback
  void warn_of_lone_rank();
  // Only if there is a resumption. Throws Error(kConfiguration) if another model, or other data, was saved.
  void check_resumption();

  TrainingParts parts();
  bool is_elastic() const { return is_elastic_; }  // the number of ranks, or the files, differ from the checkpoint's
  const TrainingPlan& plan() const { return plan_; }
  const std::vector<std::string>& warnings() const { return warnings_; }  // one line each
  // Printable lines about samples that are left out; "" if all are used.
  const std::string& left_out() const { return left_out_; }
  RankFacts facts();   // facts about this rank
  RunHeader header();  // `config` and `ranks` are not set
  // The card that is printed at start: model, data, batch, equation, learning rate.
  std::string describe() const;
  double epochs() const;
  // Why the run ended early; "" if it went on to its planned end.
  std::string describe_stop(const RunSummary& summary) const;
  // Writes the consensus, with parameters named by layer. Collective; rank 0 writes the file.
  void save_model(const OutputPath& path);
  bool has_average() const { return average_ != nullptr; }
  void save_average(const OutputPath& path);  // the same for the moving average of the consensus

 private:
  void open_data();
  void load_images();
  std::string describe_held_out() const;
  std::string describe_samples() const;
  std::string describe_device() const;
  void build_model();
  std::int64_t most_samples_of_rank() const;
  void plan_steps();
  void plan_stop();
  bool evaluates_only_at_end() const;
  void refuse_useless_stop(const std::string& stop) const;
  bool has_other_files() const;
  void warn_of_passed_fault();
  void plan_resumption();
  std::string option_of_length() const;
  void build_optimizer();
  EpochSteps epoch_steps() const;
  FormerRun former_run() const;
  std::int64_t steps_asked_for() const;
  void build_schedule();
  void warn_of_other_scale();
  void warn_of_long_warmup();
  void warn_of_default_epochs();
  void warn_of_other_vocabulary(const std::map<std::string, std::string>& initial);
  void note_schedule(const ScheduleLength& length);
  void read_initial_parameters();
  ModelDescription model_description() const;
  std::string describe_input() const;
  void require_model_of_text() const;
  void require_model_of_data() const;
  void plan_drops();
  void require_drops() const;
  void warn_without_drop();
  void build_communicator(const std::vector<std::string>& hosts);
  void build_average();
  void warn_of_young_average();
  void write_consensus(const OutputPath& path, ConstSlice of_device, const std::vector<float>& statistics);
  void check_batches_of_norms();
  void require_deterministic() const;
  double learning_rate_scale() const;
  std::string describe_rate() const;
  std::string describe_decay() const;
  std::string describe_clipping() const;

  const OptionValues& values_;
  Transport& transport_;
  const CountingTransport& counting_;
  const Resumption* const resumption_;
  bool is_elastic_ = false;
  const CheckedSamples checked_;
  std::vector<std::string> warnings_;
  std::string left_out_;
  const DevicePlan device_plan_;
  OpenDevice device_;
  std::unique_ptr<DeviceImages> train_images_, test_images_, validation_images_;
  DataSplit data_;
  Augmentation augmentation_;
  std::int64_t batch_per_rank_ = 0;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  std::string schedule_note_;  // a line of the card
  std::unique_ptr<Replica> replica_;
  std::string initial_identity_;  // of --initial-parameters, on rank 0; "" if this run has not read them
  int longest_text_ = 0;          // of ModelDescription, on rank 0, which saves it
  CommunicatorTraits traits_;
  std::optional<Attachment> attachment_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<ConsensusAverage> average_;
  TrainingPlan plan_;
};

}  // namespace eave
