// Describes a training job before it begins, and why it ended.
#include <algorithm>

#include "app/options/shared_options.h"
#include "app/options/training_plan.h"
#include "app/run/training_job.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "optim/common_settings.h"
#include "report/text/terminal.h"
#include "train/loop/consensus_average.h"

namespace eave {
namespace {

// Formats one entry of the card. Further lines of `text` are indented below the first.
std::string card_line(const std::string& title, const std::string& text) {
  constexpr std::size_t kIndent = 15;
  std::string line = title + std::string(kIndent - title.size(), ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    line += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) line += std::string(kIndent, ' ');
  }
  return line.back() == '\n' ? line : line + '\n';
}

// Removes the counting decorator from a name: it is always there and does not interest people.
std::string without_counting(const std::string& name) {
  constexpr std::string_view kPrefix = "counting(";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size(), name.size() - kPrefix.size() - 1) : name;
}

// The model on one line: its layers may be written on several lines.
std::string model_text(const OptionValues& values) {
  std::string text = values.text("model");
  std::ranges::replace(text, '\n', ' ');
  return printable(text);
}

// The gradient of a step divides by windows x tokens (Model::train).
std::string describe_short_window(const TokenDataset& text) {
  const std::int64_t missing = text.size() * text.context() - text.labels();
  if (missing == 0) return "";
  return "; the last training window has " + count_text(text.context() - missing, "label") +
         ", and weighs less in a gradient";
}

constexpr const char* kAtDrop =
    "before the step, x_i <- the center (what is evaluated), and the optimizer's vectors and count of updates <- 0:\n"
    "workers begin anew, at rest; what they were away from it is lost (of elastic methods: the sum of all x_i and c is "
    "not kept there)";

}  // namespace

RunHeader TrainingJob::header() {
  RunHeader header;
  header.version = EAVE_VERSION;
  header.communicator = values_.text("communicator");
  header.equation = communicator_->equation();
  header.optimizer = optimizer_->equation();
  header.learning_rate = describe_rate();
  header.model = values_.text("model");
  for (const TensorInfo& tensor : model_->parameters()) header.parameters += tensor.size;
  header.train_samples = data_.train->size();
  header.metric = metric_of(data_);
  header.test_samples = data_.test->size();
  if (const TokenDataset* text = data_.test->tokens()) {
    header.test_labels = text->labels();
    header.tokens_per_sample = text->context();
  }
  header.classes = data_.train->classes();
  header.class_names = data_.class_names;
  header.data_identity = data_.identity;
  header.initial_identity = initial_identity_;
  return header;
}

// Says whether the method scales its learning rate with the ranks, the most common cause of unequal comparisons.
std::string TrainingJob::describe_rate() const {
  const std::string ranks = std::to_string(sampler_->ranks());
  std::string note = "each replica steps on its own batch: never multiplied by the number of ranks";
  if (traits_.averages_gradients) {
    note = values_.text("lr-scaling") == "none"
               ? "not multiplied by the number of ranks, " + ranks + "; --lr-scaling linear or sqrt does"
               : "a step works on the batches of all ranks, " + ranks;
  }
  return schedule_->describe() + (schedule_note_.empty() ? "" : "\n" + printable(schedule_note_)) + "\n" + note;
}

std::string TrainingJob::describe_held_out() const {
  return data_.validation ? ", " + std::to_string(data_.validation->size()) + " validation" : "";
}

// ", 60000 training and 10000 test images, 28 x 28 x 1, 10 classes"
std::string TrainingJob::describe_samples() const {
  const bool is_text = data_.train->tokens() != nullptr;
  const std::string sizes =
      format(", %lld training%s and %s", static_cast<long long>(data_.train->size()), describe_held_out().c_str(),
             count_text(data_.test->size(), is_text ? "test window" : "test image").c_str());
  const ImageShape input = augmentation_.output(data_.train->shape());
  if (is_text)
    return sizes +
           format(" of %s, %d in the vocabulary", count_text(input.height, "token").c_str(), data_.train->classes()) +
           describe_short_window(*data_.train->tokens());
  return sizes +
         format(", %d x %d x %d, %d classes", input.height, input.width, input.channels, data_.train->classes());
}

std::string TrainingJob::describe_device() const {
  if (!device_plan_.is_cuda) return "cpu: " + device_plan_.why_not_gpu;
  return std::string("cuda, ") + device_.precision + " products" +
         (device_.precision == "bf16" ? " and activations, float32 parameters" : "") +
         (values_.flag("deterministic") ? ", deterministic" : "") +
         (train_images_ != nullptr ? "; images on the device" : "; images from the host") +
         (device_plan_.is_own ? "" : "; GPUs are shared by ranks") +
         (device_.tuning != nullptr ? "; " + describe_tuning(*device_.tuning) : "");
}

// How many parameters decay, if not all do.
std::string TrainingJob::describe_decay() const {
  if (!traits_.uses_optimizer || !(values_.real("weight-decay") > 0) || values_.text("weight-decay-of") == "all")
    return "";
  std::int64_t tensors = 0, parameters = 0, all = 0;
  for (const TensorInfo& tensor : model_->parameters()) {
    all += tensor.size;
    if (!decays_as_matrix(tensor)) continue;
    ++tensors;
    parameters += tensor.size;
  }
  return "\n" + count_text(parameters, "parameter") + " of " + std::to_string(all) + " decay, in " +
         count_text(tensors, "tensor");
}

std::string TrainingJob::describe_clipping() const {
  const std::string limit = number_text(plan_.clip_norm);
  const std::string text = "g <- g min(1, " + limit + " / |g|), |g| the norm over all parameters, ";
  const std::string end = "; the update waits for it";
  if (traits_.averages_gradients) return text + "of the gradient averaged over the ranks" + end;
  const bool begins_averaging = values_.entries().contains("post-local-at") && values_.given("post-local-at");
  return text + "of each rank's own gradient" +
         (begins_averaging ? ", and of the averaged gradient before --post-local-at" : "") + end;
}

std::string TrainingJob::describe() const {
  std::int64_t parameters = 0;
  for (const TensorInfo& tensor : model_->parameters()) parameters += tensor.size;
  return card_line("model", model_text(values_) + ", " + count_text(parameters, "parameter")) +
         (values_.has("initial-parameters") ? card_line("begins with", printable(values_.text("initial-parameters")))
                                            : "") +
         card_line("data", printable(values_.text("data")) + describe_samples() +
                               (data_.note.empty() ? "" : "\n" + printable(data_.note))) +
         (device_plan_.is_cuda || !device_plan_.why_not_gpu.empty() ? card_line("device", printable(describe_device()))
                                                                    : "") +
         card_line("batch", format("%lld per rank, %lld in all; ", static_cast<long long>(batch_per_rank_),
                                   static_cast<long long>(batch_per_rank_ * sampler_->ranks())) +
                                count_text(sampler_->steps_per_epoch(), "step") + " per epoch, " +
                                count_text(plan_.steps, "step") + " in all" +
                                (plan_.passes > 1 ? "\n" + std::to_string(plan_.passes) +
                                                        " passes per step, whose gradients are added up"
                                                  : "")) +
         (plan_.first_step > 0
              ? card_line("resumed", format("after step %lld", static_cast<long long>(plan_.first_step)))
              : "") +
         (model_->statistics_size() > 0
              ? card_line("batch norm", describe_norm_statistics(plan_, communicator_->moments() != nullptr))
              : "") +
         card_line("optimizer", optimizer_->equation() + describe_decay()) +
         (plan_.clip_norm > 0 ? card_line("clipping", describe_clipping()) : "") +
         (average_ ? card_line("average", average_->describe()) : "") + card_line("learning rate", describe_rate()) +
         (describe_shape(values_).empty() ? "" : card_line("slow network", printable(describe_shape(values_)))) +
         (plan_.reset_on_drop ? card_line("at a drop", kAtDrop) : "") +
         card_line("communicator",
                   printable(values_.text("communicator") + " over " + without_counting(transport_.name())) + "\n" +
                       communicator_->equation());
}

std::string TrainingJob::describe_stop(const RunSummary& summary) const {
  const ModelScore& last = summary.evaluation.center;
  const bool is_accurate = plan_.stop_at_accuracy > 0 && last.accuracy >= plan_.stop_at_accuracy;
  const bool is_low = plan_.stop_at_loss > 0 && last.loss <= plan_.stop_at_loss;
  const std::string steps = ", in " + count_text(summary.steps, "step") + "\n";
  const std::string accuracy = "the test accuracy of " + number_text(100 * plan_.stop_at_accuracy) + " % was ";
  const std::string loss = "the test loss of " + number_text(plan_.stop_at_loss) + " was ";
  if (is_accurate || is_low) return (is_accurate ? accuracy : loss) + "reached" + steps;
  if (summary.steps < plan_.steps) {
    const bool is_late = plan_.stop_after_seconds > 0 && summary.seconds >= plan_.stop_after_seconds;
    const std::string why = is_late ? "stop-after-time" : "stop-after-bytes";
    return "stopped by --" + why + " " + printable(values_.text(why)) + ", after " + std::to_string(summary.steps) +
           " of " + count_text(plan_.steps, "step") + "\n";
  }
  return (plan_.stop_at_accuracy > 0 ? accuracy + "not reached" + steps : "") +
         (plan_.stop_at_loss > 0 ? loss + "not reached" + steps : "");
}

}  // namespace eave
