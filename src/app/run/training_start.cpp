// Sets the start of a training job: initial parameters, a checkpoint, and the learning-rate schedule.
#include <algorithm>
#include <charconv>

#include "app/resume/huggingface_model.h"
#include "app/run/training_job.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "nn/specification.h"
#include "train/loop/budget.h"

namespace eave {
namespace {

std::int64_t training_samples_in(const Manifest& saved, std::int64_t otherwise) {
  const auto found = saved.identity.find("training samples");
  if (found == saved.identity.end()) return otherwise;
  std::int64_t samples = 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), samples);
  return samples > 0 ? samples : otherwise;
}

// The run goes on after as many samples. Options and schedules count in epochs, whose length is another now.
std::string describe_other_epochs(const Manifest& saved, std::int64_t now) {
  const std::int64_t former = training_samples_in(saved, now);
  if (former == now) return "";
  const auto epochs = [&](std::int64_t samples) {
    return decimal_text(static_cast<double>(saved.samples) / static_cast<double>(samples), 2);
  };
  return "; so it goes on at epoch " + epochs(now) + " of these, after epoch " + epochs(former) +
         " of those, and --epochs and schedules in epochs count from there";
}

}  // namespace

// Asked before the model is made: the tokens of a window are a bad image for most layers.
void TrainingJob::require_model_of_text() const {
  if (data_.train->tokens() == nullptr || model_reads_tokens(values_.text("model"))) return;
  throw Error(ExitCode::kConfiguration, "--model " + printable(values_.text("model")) +
                                            " reads images, but samples of --data " + values_.text("data") +
                                            " are windows of tokens: choose a model of text, such as nanogpt-cpu");
}

// A model of images has one prediction for each sample, and a model of text one for each token.
void TrainingJob::require_model_of_data() const {
  const TokenDataset* const text = data_.train->tokens();
  if (const std::int64_t labels = text == nullptr ? 1 : text->context(); labels != model_->targets()) {
    throw Error(ExitCode::kConfiguration,
                "--model " + printable(values_.text("model")) + " gives " +
                    count_text(model_->targets(), "prediction") + " for each sample, but samples of --data " +
                    values_.text("data") + " have " + count_text(labels, "label") +
                    (text == nullptr ? ": choose a model of images" : ", one for each token: choose a model of text"));
  }
}

// Rank 0 reads them, and Communicator::begin sends them to the other ranks. A resumed run uses those of its checkpoint.
void TrainingJob::read_initial_parameters() {
  if (!values_.has("initial-parameters") || resumption_ || transport_.rank() != 0) return;
  const ModelDescription model = model_description();
  const Graph graph = build_graph(model.specification, model.image, model.classes);
  const SafetensorsFile file = read_model_of(values_.text("initial-parameters"));
  initial_identity_ = identity_of_model(file);
  warn_of_other_vocabulary(file.metadata);
  longest_text_ = longest_text_of(file);
  plan_.checkpoints.notes.merge(metadata_of(model_description()));
  const std::string remedy =
      std::string("give the --model that the file is of") +
      (data_.train->tokens() == nullptr ? ""
                                        : ", and --vocabulary-size if its tables have more tokens than the vocabulary");
  if (replica_->device.kind() == DeviceKind::kCpu)
    return read_model_into(file, graph, replica_->parameters.slice(), replica_->statistics.slice(), remedy);
  const ModelArenas first = read_model(file, graph, remedy);
  replica_->device.write(replica_->parameters.slice(), first.parameters);
  replica_->device.write(replica_->statistics.slice(), first.statistics);
}

// Describes how an image of the data becomes the values that the first layer reads in an evaluation.
std::string TrainingJob::describe_input() const {
  if (data_.train->tokens() != nullptr) {
    const bool is_bytes = values_.text("data") == "text" && values_.text("vocabulary") == "bytes";
    return "numbers of tokens; vocabulary: " +
           (is_bytes ? "bytes" : "one of " + std::to_string(data_.train->classes()) + " tokens");
  }
  const ImageShape image = data_.train->shape(), seen = augmentation_.output(image);
  const auto size = [](ImageShape shape) { return std::to_string(shape.height) + "x" + std::to_string(shape.width); };
  std::string text;
  if (values_.text("data") == "image-folder") {
    text = "red, green, blue; the largest centred square of a picture, resized to " + size(image) +
           " by a triangle filter that averages when it shrinks; ";
  }
  if (!(seen == image)) text += "the centre of " + size(seen) + " of " + size(image) + " pixels; ";
  return text + text_of_input(data_.mean, data_.deviation);
}

// Whether the data has other files than the checkpoint's. With --resume elastic, images may be added or removed.
// Classes may not, because the model knows them by number.
bool TrainingJob::has_other_files() const {
  const Manifest& saved = resumption_->found.manifest;
  const auto identity = saved.identity.find("data"), classes = saved.notes.find("class_names");
  return values_.text("resume") == "elastic" && identity != saved.identity.end() && !data_.class_names.empty() &&
         identity->second != data_.identity && classes != saved.notes.end() &&
         classes->second == text_of_names(data_.class_names);
}

// Plans where to go on. A run that was ended by a budget after its last checkpoint may end again by it.
void TrainingJob::plan_resumption() {
  const Manifest& saved = resumption_->found.manifest;
  plan_.first_step = saved.step;
  plan_.has_other_files = has_other_files();
  if (plan_.has_other_files && values_.has("validation-share"))
    throw Error(ExitCode::kConfiguration,
                "--resume elastic: the data has other files than before, and --validation-share would hold out other "
                "images of them, with which the run has trained; put the files back, or begin a new run");
  is_elastic_ = resumption_->is_elastic || plan_.has_other_files;
  if (plan_.has_other_files && transport_.rank() == 0) {
    warnings_.push_back("--resume elastic: the run goes on with other files than it began with; it has now " +
                        count_text(data_.train->size(), "training image") + ", and had " +
                        saved.identity.at("training samples") + describe_other_epochs(saved, data_.train->size()));
  }
  if (is_elastic_) {
    plan_.elastic_step = saved.step;
    plan_.first_step = step_after_samples(*sampler_, saved.samples);
  }
  for (const std::string& damage : resumption_->found.passed_over) {
    if (transport_.rank() == 0) warnings_.push_back("a newer checkpoint is passed over: " + damage);
  }
  const auto note = saved.notes.find(kEnded);
  const std::optional<BudgetState> reached = note == saved.notes.end() ? std::nullopt : reached_in(note->second);
  plan_.has_ended = reached && is_enough(plan_, *reached);
  // Fewer ranks need more steps for the same samples. So the run may have done all that --max-steps asked of more
  // ranks.
  if (is_elastic_ && !resumption_->has_ended) plan_.steps = std::max(plan_.steps, plan_.first_step);
  if (plan_.first_step < plan_.steps && !plan_.has_ended) return;
  if (!resumption_->has_ended && (plan_.has_ended || plan_.first_step == plan_.steps)) return;
  const std::string has_done =
      "--resume: the run in " + values_.text("run-dir") + " has done " + count_text(plan_.first_step, "step") + ", ";
  if (plan_.has_ended) {
    throw Error(ExitCode::kUsage, has_done +
                                      "and ended there as --stop-at-accuracy, --stop-at-loss, --stop-after-time or "
                                      "--stop-after-bytes asks; ask for more to go on");
  }
  const bool needs_extension = Schedule::depends_on_length(values_) && !values_.has("extend-schedule");
  const std::string option = option_of_length();
  const std::string asked = plan_.first_step == plan_.steps
                                ? "and the options ask for as many" +
                                      std::string(option == "max-steps" ? "" : ", rounded to whole steps") + " (--" +
                                      option + " " + values_.text(option) + "); give more"
                                : "and " + std::to_string(plan_.steps) + " are asked for; give more";
  throw Error(ExitCode::kUsage,
              has_done + asked + " --" + option + (needs_extension ? ", and --extend-schedule stretch or hold" : ""));
}

// The option that limits the number of steps.
std::string TrainingJob::option_of_length() const {
  if (values_.has("max-steps") && values_.integer("max-steps", 1) == plan_.steps) return "max-steps";
  const auto samples = most_samples(values_);
  if (!samples || epoch_steps().steps_for(*samples) != plan_.steps) return "epochs";
  const bool is_by_samples = values_.has("max-samples") && values_.integer("max-samples", 1) == *samples;
  return is_by_samples ? "max-samples" : "max-tokens";
}

EpochSteps TrainingJob::epoch_steps() const { return {data_.train->size(), batch_per_rank_ * sampler_->ranks()}; }

FormerRun TrainingJob::former_run() const {
  const Manifest& saved = resumption_->found.manifest;
  const EpochSteps now = epoch_steps();
  const bool is_total = values_.text("batch-means") == "total";
  const std::int64_t of_step = is_total ? now.of_step : batch_per_rank_ * count_in(saved, kWorkers);
  return {saved, resumption_->config, {training_samples_in(saved, now.samples), of_step}};
}

std::int64_t TrainingJob::steps_asked_for() const {
  return resumption_ ? steps_in_resumed(values_, former_run(), epoch_steps()) : steps_in(values_, epoch_steps());
}

void TrainingJob::build_schedule() {
  const EpochSteps now = epoch_steps();
  const TokenDataset* const text = data_.train->tokens();
  const ScheduleUnits units{now.of_step, text == nullptr ? 0 : text->context()};
  const auto make = [&](const ScheduleLength& length) {
    auto schedule = std::make_unique<Schedule>(values_, now.samples, length.samples, learning_rate_scale(), units);
    if (schedule->depends_on_length()) schedule->hold_after(length.last_step);
    return schedule;
  };
  if (resumption_ && resumption_->is_elastic) warn_of_other_scale();
  ScheduleInForce schedule{length_of(plan_.steps, now)};
  schedule_ = make(schedule.length);
  if (!schedule_->depends_on_length() || !resumption_) {
    if (!values_.has("extend-schedule")) return note_schedule(schedule.length);
    refuse_option(values_, "extend-schedule",
                  resumption_ ? "has no effect: the learning rate does not depend on the length of the run (" +
                                    schedule_->describe() + ")"
                              : "has no effect: there is no run to go on with");
  }
  const FormerRun former = former_run();
  schedule = decide_schedule(
      {values_, former, now, plan_.first_step, plan_.has_ended ? plan_.first_step : plan_.steps,
       [&](const ScheduleLength& length, std::int64_t samples) { return make(length)->learning_rate(samples); }});
  schedule_ = make(schedule.length);
  schedule_note_ = schedule.note;
  note_schedule(schedule.length);
}

// Records the length in checkpoints, for runs that resume from them.
void TrainingJob::note_schedule(const ScheduleLength& length) {
  if (schedule_->depends_on_length()) plan_.checkpoints.notes[kSchedule] = to_text(length);
}

void TrainingJob::check_resumption() {
  const Manifest& saved = resumption_->found.manifest;
  if (is_elastic_) return check_same_model(plan_.checkpoints.directory, saved, parts(), plan_.has_other_files);
  check_same_run(plan_.checkpoints.directory, saved, parts(), resumption_->ranks_without_access,
                 values_.text("resume") == "elastic");
}

}  // namespace eave
