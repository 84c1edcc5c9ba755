// CudaDevice's algebra on flat arrays, and the bfloat16 copy of the parameters, which its passes keep fresh.
#include "device/cuda/cuda_device.h"
#include "device/cuda/plans/matrix_products.h"
#include "kernels/cuda/flat.h"
#include "kernels/flat/flat_pass.h"

namespace eave::cuda {

void CudaDevice::keep_half(ConstSlice parameters, Half* half) {
  if (parameters.data() == parameters_.data() && parameters.size() == parameters_.size() && half == half_) return;
  parameters_ = parameters;
  half_ = half;
  half_is_fresh_ = false;
}

void CudaDevice::forget_half() { keep_half({}, nullptr); }

Half* CudaDevice::half_of(ConstSlice parameters) {
  change(parameters);
  const bool is_whole = parameters.data() == parameters_.data() && parameters.size() == parameters_.size();
  if (!is_whole || half_ == nullptr) return nullptr;
  half_is_fresh_ = true;
  return half_;
}

Half* CudaDevice::begin_writing(const FlatPass& pass) {
  Half* half = nullptr;
  const auto look_at = [&]<class Word>(const Word&) {
    for (std::size_t k = 0; k < passes::kOperandCount<Word>; ++k) {
      if (Word::kOperands[k] == passes::Use::kParameters) {
        half = half_of(pass.operands[k]);
      } else if (Word::kOperands[k] != passes::Use::kRead) {
        change(pass.operands[k]);
      }
    }
  };
  if (pass.pull != nullptr) change(pass.pull->center);
  std::visit(look_at, pass.word);
  return half;
}

void CudaDevice::change(ConstSlice written) {
  const float* const end = parameters_.data() + parameters_.size();
  if (written.data() < end && parameters_.data() < written.data() + written.size()) half_is_fresh_ = false;
}

void CudaDevice::fill(Slice values, float value) {
  change(values);
  cuda::fill(stream(), values, value);
}
void CudaDevice::scale(Slice values, float factor) {
  change(values);
  cuda::scale(stream(), values, factor);
}
void CudaDevice::add_scaled(Slice into, float factor, ConstSlice from) {
  change(into);
  cuda::add_scaled(stream(), into, factor, from);
}

void CudaDevice::multiply(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into) {
  change(into);
  if (!products_) products_ = std::make_unique<MatrixProducts>(stream(), [this] { finish_all(); });
  products_->run(product, a, b, into);
}

}  // namespace eave::cuda
