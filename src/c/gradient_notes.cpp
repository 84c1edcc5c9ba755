#include "c/gradient_notes.h"

#include <algorithm>

#include "base/options/number_text.h"

namespace eave {
namespace {

constexpr std::size_t kBad = 0, kSumOfBadRanks = 1, kFirstTensor = 2;

}  // namespace

void GradientNotes::start(bool is_finite, bool counts, TensorFlags has_gradient) {
  values_.assign(kFirstTensor + has_gradient.size(), 0);
  values_[kBad] = is_finite ? 0 : 1;
  values_[kSumOfBadRanks] = is_finite ? 0 : static_cast<float>(transport_.rank());
  for (std::size_t k = 0; k < has_gradient.size(); ++k)
    values_[kFirstTensor + k] = counts && has_gradient[k] != 0 ? 1 : 0;
  pending_ = transport_.all_reduce_sum(values_);
}

std::string GradientNotes::finish(TensorFlags has_gradient) {
  pending_.wait();
  for (std::size_t k = 0; k < has_gradient.size(); ++k) has_gradient[k] = values_[kFirstTensor + k] > 0 ? 1 : 0;
  if (values_[kBad] == 0) return "";
  if (values_[kBad] == 1) return " on rank " + std::to_string(static_cast<int>(values_[kSumOfBadRanks]));
  return " on " + count_text(static_cast<int>(values_[kBad]), "rank");
}

}  // namespace eave
