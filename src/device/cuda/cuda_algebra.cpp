// CudaDevice's passes over flat arrays. Each call launches one kernel.
#include "device/cuda/cuda_device.h"
#include "eave/update_steps.h"
#include "kernels/cuda/center.h"
#include "kernels/cuda/flat.h"
#include "kernels/cuda/update.h"

namespace eave::cuda {

void CudaDevice::keep_half(ConstSlice parameters, Half* half) {
  if (parameters.data() == parameters_.data() && parameters.size() == parameters_.size() && half == half_) return;
  parameters_ = parameters;
  half_ = half;
  half_is_fresh_ = false;
}

void CudaDevice::forget_half() { keep_half({}, nullptr); }

Half* CudaDevice::half_of(Slice parameters) {
  change(parameters);
  const bool is_whole = parameters.data() == parameters_.data() && parameters.size() == parameters_.size();
  if (!is_whole || half_ == nullptr) return nullptr;
  half_is_fresh_ = true;
  return half_;
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

void CudaDevice::pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead) {
  change(pull.center);
  cuda::pull_parameters(stream(), parameters, pull, ahead, half_of(parameters));
}

void CudaDevice::write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                                  const Ahead& ahead) {
  change(difference);
  cuda::write_difference(stream(), difference, parameters, center, factor, ahead);
}

void CudaDevice::move_center(Slice center, ConstSlice sum) {
  change(center);
  cuda::move_center(stream(), center, sum);
}

void CudaDevice::move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha,
                                        const Ahead& ahead) {
  change(center);
  cuda::move_center_and_follow(stream(), center, sum, parameters, alpha, ahead, half_of(parameters));
}

void CudaDevice::step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  change(center);
  change(mean);
  cuda::step_outer(stream(), center, velocity, mean, step);
}

void CudaDevice::move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) {
  change(average);
  change(rest);
  cuda::move_average(stream(), average, rest, values, share, ahead);
}

void CudaDevice::write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) {
  change(into);
  cuda::write_iterate(stream(), into, parameters, ahead);
}

void CudaDevice::write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) {
  change(message);
  cuda::write_displacement(stream(), message, parameters, ahead);
}

void CudaDevice::write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) {
  change(parameters);
  cuda::write_parameters(stream(), parameters, iterate, ahead);
}

void CudaDevice::write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) {
  change(into);
  cuda::write_step(stream(), into, parameters, gradients, rate, decay);
}

void CudaDevice::subtract(Slice parameters, ConstSlice difference) {
  change(parameters);
  cuda::subtract(stream(), parameters, difference);
}

}  // namespace eave::cuda
