// The warnings of a training job: options that have less effect than they seem to.
#include <cmath>
#include <map>
#include <string>

#include "app/options/training_plan.h"
#include "app/run/training_job.h"
#include "base/options/number_text.h"
#include "train/loop/consensus_average.h"

namespace eave {

// The change of the rate is what --lr-scaling asks for, but a resumed run should not change its rate silently.
void TrainingJob::warn_of_other_scale() {
  const int former = count_in(resumption_->found.manifest, kWorkers), now = sampler_->ranks();
  const bool is_scaled = learning_rate_scale() == now && values_.text("lr-scaling") != "none";
  if (!is_scaled || former == now || transport_.rank() != 0) return;
  const double factor = values_.text("lr-scaling") == "linear" ? static_cast<double>(now) / former
                                                               : std::sqrt(static_cast<double>(now) / former);
  warnings_.push_back("--lr-scaling " + values_.text("lr-scaling") + ": " + count_text(now, "rank") +
                      (now == 1 ? " trains" : " train") + " now and " + std::to_string(former) +
                      " did before, so after the warm-up the rate is " + number_text(factor) + " times what it was");
}

void TrainingJob::warn_of_long_warmup() {
  const std::int64_t last = epoch_steps().samples_before(plan_.steps - 1);
  if (!schedule_->is_warming_up(last) || transport_.rank() != 0) return;
  const std::string option = values_.has("warmup") ? "warmup" : "warmup-epochs";
  warnings_.push_back("--" + option + " " + values_.text(option) + ": the run of " + count_text(plan_.steps, "step") +
                      " ends during the warm-up, at the learning rate " + number_text(schedule_->learning_rate(last)) +
                      ", and never reaches " + number_text(schedule_->rate_after_warmup()) +
                      "; give a shorter warm-up, or train longer");
}

// The first limit that a run reaches ends it, and one that was not given may come first.
void TrainingJob::warn_of_default_epochs() {
  if (values_.given("epochs") || option_of_length() != "epochs" || transport_.rank() != 0) return;
  for (const std::string name : {"max-steps", "max-samples", "max-tokens"}) {
    if (!values_.has(name)) continue;
    warnings_.push_back("--" + name + " " + values_.text(name) + " will not be reached: the run ends after " +
                        values_.text("epochs") + " epochs, the default, which are " + count_text(plan_.steps, "step") +
                        "; give --epochs too");
  }
}

// Tokens are numbers, which mean other text in another vocabulary. Files from before 2026-11-29, and those of others,
// say no hash.
void TrainingJob::warn_of_other_vocabulary(const std::map<std::string, std::string>& initial) {
  const auto hash = initial.find("vocabulary");
  if (hash == initial.end() || data_.vocabulary.empty() || hash->second == data_.vocabulary) return;
  warnings_.push_back("--initial-parameters " + values_.text("initial-parameters") +
                      " was trained with another vocabulary, in which the numbers of tokens mean other text; name that "
                      "one with --vocabulary, unless you mean to train it anew");
}

void TrainingJob::warn_of_passed_fault() {
  const std::string warning = describe_passed_fault(values_, sampler_->ranks(), plan_.first_step);
  if (!warning.empty() && transport_.rank() == 0) warnings_.push_back(warning);
}

void TrainingJob::warn_of_lone_rank() {
  if (transport_.size() > 1) return;
  const std::string warning = describe_options_of_ranks(values_, traits_);
  if (!warning.empty()) warnings_.push_back(warning);
}

void TrainingJob::warn_without_drop() {
  const std::int64_t seen = epoch_steps().samples_before(plan_.steps - 1);
  if (!schedule_->drops_ever() || schedule_->drops(seen) > 0 || transport_.rank() != 0) return;
  warnings_.push_back("--lr-step-epochs " + values_.text("lr-step-epochs") +
                      ": the run ends before the learning rate drops" +
                      (plan_.reset_on_drop ? ", so --on-drop reset-to-center has no effect" : ""));
}

void TrainingJob::warn_of_young_average() {
  constexpr double kMuch = 0.05;
  const double left = average_->share_of_beginning(plan_.steps);
  // On another number of ranks, the steps before were of another size.
  if (plan_.steps < 2 || left < kMuch || is_elastic_ || transport_.rank() != 0) return;
  warnings_.push_back("the average that is scored as ema will be " + std::to_string(std::lround(100 * left)) +
                      " % the consensus after the first step, after " + count_text(plan_.steps, "step") +
                      " with --ema-decay " + values_.text("ema-decay") + " and --ema-every " +
                      values_.text("ema-every") + ": lower one of them, or train longer");
}

}  // namespace eave
