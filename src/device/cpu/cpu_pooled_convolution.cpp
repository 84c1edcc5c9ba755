// Convolution, relu and a max-pool without overlap as one operation. Forward works on groups of samples: each group's
// convolved values are pooled while they are in the cache, and are not kept.
#include <algorithm>
#include <optional>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_arguments.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/layers.h"

namespace eave {
namespace {

// Bytes of a group's convolved values: they fit a part of a core's second-level cache.
constexpr std::int64_t kGroupBytes = 512 << 10;

// Relu runs after the pool, on fewer values. The result is the same, because relu is monotonic.
ConvolutionShape without_pool(ConvolutionShape shape, std::int64_t samples, bool training) {
  shape.samples = samples;
  shape.pool = 0;
  shape.relu = false;
  shape.training = training;
  return shape;
}

cpu::PooledConvolution geometry(const ConvolutionShape& s) {
  const ImageShape out = s.output();
  return {s.input.height, s.input.width, s.input.channels, s.window.height, s.window.width, s.window.stride,
          s.window.pad,   s.outputs,     s.pool,           out.height,      out.width};
}

class CpuPooledConvolution final : public LinearPlan {
 public:
  CpuPooledConvolution(CpuContext& context, const ConvolutionShape& shape);
  std::int64_t saved_size() const override { return (shape_.samples * shape_.output().size() + 3) / 4; }
  std::int64_t scratch_size() const override { return scratch_size_; }
  void forward(const LinearForward& call) override;
  void backward(const LinearBackward& call) override;

 private:
  cpu::PoolGeometry pool(std::int64_t samples) const;
  void forward_group(CpuConvolution& group, const LinearForward& call, std::int64_t first, std::int64_t samples,
                     const float* packed);
  void backward_everywhere(const LinearBackward& call, const std::uint8_t* winners);
  void backward_winners(const LinearBackward& call, const std::uint8_t* winners);

  ConvolutionShape shape_;
  const cpu::WideKernels* kernels_;  // nullptr: backward visits every value of the convolution's output
  std::int64_t group_;
  std::optional<CpuConvolution> of_group_, of_rest_, of_all_;
  std::int64_t scratch_size_ = 0;
};

CpuPooledConvolution::CpuPooledConvolution(CpuContext& context, const ConvolutionShape& shape)
    : shape_(shape),
      kernels_(context.kernels != nullptr && shape.outputs % context.kernels->width == 0 ? context.kernels : nullptr) {
  const std::int64_t convolved = shape.convolved().size();
  group_ = std::clamp<std::int64_t>(kGroupBytes / (4 * convolved), 1, shape.samples);
  of_group_.emplace(context, without_pool(shape, group_, false));
  scratch_size_ = of_group_->scratch_size() + group_ * convolved;
  if (const std::int64_t rest = shape.samples % group_; rest > 0) {
    of_rest_.emplace(context, without_pool(shape, rest, false));
    scratch_size_ = std::max(scratch_size_, of_rest_->scratch_size() + rest * convolved);
  }
  if (!shape.training) return;
  if (kernels_ != nullptr) {
    scratch_size_ = std::max(scratch_size_, kernels_->pooled_gradient_scratch(geometry(shape)));
  } else {
    of_all_.emplace(context, without_pool(shape, shape.samples, true));
    scratch_size_ = std::max(scratch_size_, of_all_->scratch_size() + shape.samples * convolved);
  }
}

cpu::PoolGeometry CpuPooledConvolution::pool(std::int64_t samples) const {
  const ImageShape in = shape_.convolved();
  const ImageShape out = shape_.output();
  return {samples, in.height, in.width, in.channels, out.height, out.width, shape_.pool, shape_.pool, shape_.pool, 0};
}

void CpuPooledConvolution::forward(const LinearForward& call) {
  const std::int64_t groups = shape_.samples / group_;
  const float* packed = of_group_->pack(call.weights, call.scratch);
  for (std::int64_t i = 0; i < groups; ++i) forward_group(*of_group_, call, i * group_, group_, packed);
  if (!of_rest_) return;
  // A different number of samples may need a different layout of the weights.
  packed = of_rest_->pack(call.weights, call.scratch);
  forward_group(*of_rest_, call, groups * group_, shape_.samples % group_, packed);
}

void CpuPooledConvolution::forward_group(CpuConvolution& group, const LinearForward& call, std::int64_t first,
                                         std::int64_t samples, const float* packed) {
  ScratchPieces pieces(call.scratch);
  const Slice working = pieces.take(group.scratch_size());
  float* convolved = pieces.take(samples * shape_.convolved().size()).data();
  group.convolve(packed, call.bias, call.input.data() + first * shape_.input.size(), convolved, working);
  const std::int64_t at = first * shape_.output().size();
  auto* winners = call.saved.empty() ? nullptr : array<std::uint8_t>(call.saved) + at;
  float* const output = call.output.data() + at;
  cpu::max_pool(pool(samples), convolved, output, winners);
  if (shape_.relu) cpu::add_bias(output, nullptr, true, 1, samples * shape_.output().size());
}

void CpuPooledConvolution::backward(const LinearBackward& call) {
  const ImageShape out = shape_.output();
  // A pooled value is 0 exactly where relu stopped it, so the pool's output gives relu's mask.
  cpu::add_bias_gradient(shape_.relu ? call.output.data() : nullptr, call.d_output.data(), array<float>(call.d_bias),
                         shape_.samples * out.height * out.width, out.channels);
  const auto* winners = array<std::uint8_t>(call.saved);
  kernels_ != nullptr ? backward_winners(call, winners) : backward_everywhere(call, winners);
}

void CpuPooledConvolution::backward_winners(const LinearBackward& call, const std::uint8_t* winners) {
  const cpu::PooledGradient gradient{shape_.samples,       call.input.data(),     call.weights.data(),       winners,
                                     call.d_output.data(), call.d_weights.data(), array<float>(call.d_input)};
  kernels_->pooled_gradient(geometry(shape_), gradient, call.scratch.data());
}

void CpuPooledConvolution::backward_everywhere(const LinearBackward& call, const std::uint8_t* winners) {
  ScratchPieces pieces(call.scratch);
  LinearBackward inner = call;
  inner.scratch = pieces.take(of_all_->scratch_size());
  float* d_convolved = pieces.take(shape_.samples * shape_.convolved().size()).data();
  cpu::max_pool_gradient(pool(shape_.samples), winners, call.d_output.data(), d_convolved);
  of_all_->convolve_back(inner, d_convolved);
}

}  // namespace

std::unique_ptr<LinearPlan> make_cpu_plan(CpuContext& context, const ConvolutionShape& shape) {
  if (shape.pool == 0) return std::make_unique<CpuConvolution>(context, shape);
  return std::make_unique<CpuPooledConvolution>(context, shape);
}

}  // namespace eave
