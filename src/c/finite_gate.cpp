#include "c/finite_gate.h"

#include "base/divergence_text.h"
#include "base/options/number_text.h"
#include "c/stderr_message.h"
#include "eave/agreement.h"

namespace eave {
namespace {

// Places in the sum: how many ranks are not finite, the sum of these ranks, how many have large and how many have
// changed gradients, the shares of the samples, then a flag per tensor.
constexpr std::size_t kBad = 0, kSumOfBadRanks = 1, kLarge = 2, kChanged = 3, kShares = 4, kFirstTensor = 5;

}  // namespace

void GradientFlags::start(const OwnGradients& own, TensorFlags has_gradient) {
  values_.assign(kFirstTensor + has_gradient.size(), 0);
  values_[kBad] = own.is_finite ? 0 : 1;
  values_[kSumOfBadRanks] = own.is_finite ? 0 : static_cast<float>(transport_.rank());
  values_[kLarge] = own.is_large ? 1 : 0;
  values_[kChanged] = own.has_changed ? 1 : 0;
  values_[kShares] = static_cast<float>(own.share);
  for (std::size_t k = 0; k < has_gradient.size(); ++k)
    values_[kFirstTensor + k] = own.counts && has_gradient[k] != 0 ? 1 : 0;
  pending_ = transport_.all_reduce_sum(values_);
}

AllGradients GradientFlags::finish(TensorFlags has_gradient) {
  pending_.wait();
  for (std::size_t k = 0; k < has_gradient.size(); ++k) has_gradient[k] = values_[kFirstTensor + k] > 0 ? 1 : 0;
  AllGradients all{
      .where = "", .any_large = values_[kLarge] > 0, .any_changed = values_[kChanged] > 0, .shares = values_[kShares]};
  if (values_[kBad] == 1) {
    all.where = " on rank " + std::to_string(static_cast<int>(values_[kSumOfBadRanks]));
  } else if (values_[kBad] > 1) {
    all.where = " on " + count_text(static_cast<int>(values_[kBad]), "rank");
  }
  return all;
}

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
  if (in_a_row_ < limit_) {
    if (left_out_ == 1 && (rank_ == 0 || !is_of_all))
      warn("the gradient or loss of step " + std::to_string(step) + " is not finite" + where +
           "; the step is left out and counted, as further ones are. " + std::to_string(limit_) +
           " in a row end the job (nonfinite-limit)");
    return;
  }
  const std::string text = divergence_text("gradient or loss", step, where, in_a_row_, learning_rate, "a smaller one");
  if (is_of_all) throw AgreedError(ExitCode::kDiverged, text);
  throw Error(ExitCode::kDiverged, text);
}

}  // namespace eave
