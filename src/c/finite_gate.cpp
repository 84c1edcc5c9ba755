#include "c/finite_gate.h"

#include "base/host.h"
#include "base/options/number_text.h"
#include "c/say.h"

namespace eave {

FiniteGate::FiniteGate(const Transport& transport, const OptionValues& values)
    : rank_(transport.rank()),
      limit_(values.text("on-nonfinite") == "abort" ? 1 : values.integer("nonfinite-limit", 1)) {}

void FiniteGate::pass(bool is_finite, bool is_of_all, std::int64_t step, double learning_rate,
                      const std::string& where) {
  if (is_finite) {
    in_a_row_ = 0;
    return;
  }
  ++left_out_;
  ++in_a_row_;
  const std::string what = "the gradient or loss of step " + std::to_string(step) + " is not finite" + where;
  if (in_a_row_ < limit_) {
    if (left_out_ == 1 && (rank_ == 0 || !is_of_all))
      warn(what + "; the step is left out and counted, as further ones are. " + std::to_string(limit_) +
           " in a row end the job (nonfinite-limit)");
    return;
  }
  const std::string text = "training diverged: " + what +
                           (in_a_row_ > 1 ? ", as in the " + count_text(in_a_row_ - 1, "step") + " before" : "") +
                           " (learning rate " + number_text(learning_rate) + "); try a smaller one, or warm-up";
  if (is_of_all) throw AgreedError(ExitCode::kDiverged, text);
  throw Error(ExitCode::kDiverged, text);
}

}  // namespace eave
