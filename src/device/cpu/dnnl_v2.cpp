// Describes convolutions for oneDNN 2.
#include "device/cpu/dnnl_operation.h"

namespace eave {
namespace {

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

}  // namespace

ForwardDescription describe_forward(const dnnl::engine& engine, const DnnlConvolution& c,
                                    const dnnl::primitive_attr& attributes) {
  using Operation = dnnl::convolution_forward::desc;
  const Operation operation = c.bias.dims().empty() ? Operation(kTraining, kAlgorithm, c.input, c.weights, c.output,
                                                                c.strides, c.pad_before, c.pad_after)
                                                    : Operation(kTraining, kAlgorithm, c.input, c.weights, c.bias,
                                                                c.output, c.strides, c.pad_before, c.pad_after);
  return {operation, attributes, engine};
}

BackwardDataDescription describe_backward_data(const dnnl::engine& engine, const DnnlConvolution& c,
                                               const dnnl::primitive_attr& attributes, const ForwardDescription& hint) {
  const dnnl::convolution_backward_data::desc operation(kAlgorithm, c.input, c.weights, c.output, c.strides,
                                                        c.pad_before, c.pad_after);
  return {operation, attributes, engine, hint};
}

BackwardWeightsDescription describe_backward_weights(const dnnl::engine& engine, const DnnlConvolution& c,
                                                     const dnnl::primitive_attr& attributes,
                                                     const ForwardDescription& hint) {
  const dnnl::convolution_backward_weights::desc operation(kAlgorithm, c.input, c.weights, c.output, c.strides,
                                                           c.pad_before, c.pad_after);
  return {operation, attributes, engine, hint};
}

}  // namespace eave
