// Convolutions by oneDNN.
#include <algorithm>

#include "device/cpu/cpu_plans.h"
#include "kernels/cpu/elementwise.h"

namespace eave {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc describe(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

// Works in place, on as many threads as oneDNN's operations use.
void apply_relu(float* values, std::int64_t count) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 14;
#pragma omp parallel for
  for (std::int64_t first = 0; first < count; first += kPiece)
    cpu::add_bias(values + first, nullptr, true, 1, std::min(kPiece, count - first));
}

}  // namespace

CpuConvolution::CpuConvolution(CpuContext& context, const ConvolutionShape& shape) : context_(context), shape_(shape) {
  plan_forward();
  if (!shape.training) return;
  plan_to_input();
  plan_to_weights();
}

DnnlConvolution CpuConvolution::description(Tag weights) const {
  const ImageShape in = shape_.input;
  const ImageShape out = shape_.convolved();
  const Window& window = shape_.window;
  DnnlConvolution c;
  c.input = describe({shape_.samples, in.channels, in.height, in.width}, Tag::nhwc);
  c.weights = describe({out.channels, in.channels, window.height, window.width}, weights);
  c.output = describe({shape_.samples, out.channels, out.height, out.width}, Tag::nhwc);
  c.strides = {window.stride, window.stride};
  c.pad_before = {window.pad, window.pad};
  // oneDNN wants the padding that is really used at the end. A stride may leave some of it unused.
  c.pad_after = {(out.height - 1) * window.stride + window.height - in.height - window.pad,
                 (out.width - 1) * window.stride + window.width - in.width - window.pad};
  return c;
}

void CpuConvolution::fit_scratch(const DnnlRepacking& repacking, const DnnlOperation& operation) {
  packed_size_ = std::max(packed_size_, repacking.packed_size());
  working_size_ = std::max({working_size_, repacking.scratch_size(), operation.scratch_size()});
}

void CpuConvolution::plan_forward() {
  DnnlConvolution c = description(Tag::any);
  if (shape_.bias) c.bias = describe({shape_.outputs}, Tag::x);
  const ForwardDescription chosen = describe_forward(context_.engine, c, with_own_scratch());
  DnnlOperation::Arguments arguments = {
      {DNNL_ARG_SRC, c.input}, {DNNL_ARG_WEIGHTS, chosen.weights_desc()}, {DNNL_ARG_DST, c.output}};
  if (shape_.bias) arguments.emplace_back(DNNL_ARG_BIAS, c.bias);
  forward_ = DnnlOperation(chosen, context_.engine, arguments);
  pack_forward_ = DnnlRepacking(description(Tag::hwio).weights, chosen.weights_desc(), context_.engine);
  fit_scratch(pack_forward_, forward_);
}

void CpuConvolution::plan_to_input() {
  const DnnlConvolution c = description(Tag::any);
  const ForwardDescription hint = describe_forward(context_.engine, c, with_own_scratch());
  const BackwardDataDescription chosen = describe_backward_data(context_.engine, c, with_own_scratch(), hint);
  to_input_ = DnnlOperation(
      chosen, context_.engine,
      {{DNNL_ARG_DIFF_SRC, c.input}, {DNNL_ARG_WEIGHTS, chosen.weights_desc()}, {DNNL_ARG_DIFF_DST, c.output}});
  pack_to_input_ = DnnlRepacking(description(Tag::hwio).weights, chosen.weights_desc(), context_.engine);
  fit_scratch(pack_to_input_, to_input_);
}

void CpuConvolution::plan_to_weights() {
  const DnnlConvolution c = description(Tag::any);
  const ForwardDescription hint = describe_forward(context_.engine, c, with_own_scratch());
  const BackwardWeightsDescription chosen = describe_backward_weights(context_.engine, c, with_own_scratch(), hint);
  const memory::desc gradient = chosen.diff_weights_desc();
  to_weights_ =
      DnnlOperation(chosen, context_.engine,
                    {{DNNL_ARG_SRC, c.input}, {DNNL_ARG_DIFF_WEIGHTS, gradient}, {DNNL_ARG_DIFF_DST, c.output}});
  unpack_gradient_ = DnnlRepacking(gradient, description(Tag::hwio).weights, context_.engine);
  fit_scratch(unpack_gradient_, to_weights_);
}

void CpuConvolution::forward(const LinearForward& call) {
  const float* packed = pack(call.weights, call.scratch);
  convolve(packed, call.bias, call.input.data(), call.output.data(), call.scratch);
}

const float* CpuConvolution::pack(ConstSlice weights, Slice scratch) {
  if (!pack_forward_.is_needed()) return weights.data();
  ScratchPieces pieces(scratch);
  float* packed = pieces.take(packed_size_).data();
  pack_forward_.run(context_.stream, weights.data(), packed, pieces.take(working_size_));
  return packed;
}

void CpuConvolution::convolve(const float* packed, ConstSlice bias, const float* input, float* output, Slice scratch) {
  forward_.set(DNNL_ARG_SRC, input);
  forward_.set(DNNL_ARG_WEIGHTS, packed);
  if (shape_.bias) forward_.set(DNNL_ARG_BIAS, bias.data());
  forward_.set(DNNL_ARG_DST, output);
  ScratchPieces pieces(scratch);
  pieces.take(packed_size_);
  forward_.run(context_.stream, pieces.take(working_size_));
  if (shape_.relu) apply_relu(output, shape_.samples * shape_.convolved().size());
}

void CpuConvolution::backward(const LinearBackward& call) {
  const ImageShape out = shape_.convolved();
  float* d_bias = call.d_bias.empty() ? nullptr : call.d_bias.data();
  if (shape_.relu || d_bias != nullptr) {
    cpu::add_bias_gradient(shape_.relu ? call.output.data() : nullptr, call.d_output.data(), d_bias,
                           shape_.samples * out.height * out.width, out.channels);
  }
  convolve_back(call, call.d_output.data());
}

void CpuConvolution::convolve_back(const LinearBackward& call, const float* d_convolved) {
  convolve_back_to_weights(call, d_convolved);
  if (!call.d_input.empty()) convolve_back_to_input(call, d_convolved);
}

void CpuConvolution::convolve_back_to_weights(const LinearBackward& call, const float* d_convolved) {
  ScratchPieces pieces(call.scratch);
  float* const packed = pieces.take(packed_size_).data();
  const Slice working = pieces.take(working_size_);
  float* gradient = unpack_gradient_.is_needed() ? packed : call.d_weights.data();
  to_weights_.set(DNNL_ARG_SRC, call.input.data());
  to_weights_.set(DNNL_ARG_DIFF_DST, d_convolved);
  to_weights_.set(DNNL_ARG_DIFF_WEIGHTS, gradient);
  to_weights_.run(context_.stream, working);
  if (unpack_gradient_.is_needed()) unpack_gradient_.run(context_.stream, packed, call.d_weights.data(), working);
}

void CpuConvolution::convolve_back_to_input(const LinearBackward& call, const float* d_convolved) {
  ScratchPieces pieces(call.scratch);
  float* const packed = pieces.take(packed_size_).data();
  const Slice working = pieces.take(working_size_);
  if (pack_to_input_.is_needed()) pack_to_input_.run(context_.stream, call.weights.data(), packed, working);
  to_input_.set(DNNL_ARG_WEIGHTS, pack_to_input_.is_needed() ? packed : call.weights.data());
  to_input_.set(DNNL_ARG_DIFF_DST, d_convolved);
  to_input_.set(DNNL_ARG_DIFF_SRC, call.d_input.data());
  to_input_.run(context_.stream, working);
}

}  // namespace eave
