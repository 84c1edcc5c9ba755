// Describes convolutions for oneDNN 3.
#include "device/cpu/dnnl_operation.h"

namespace eave {
namespace {

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

}  // namespace

ForwardDescription describe_forward(const dnnl::engine& engine, const DnnlConvolution& c,
                                    const dnnl::primitive_attr& attributes) {
  if (c.bias.get_dims().empty()) {
    return {engine,   kTraining, kAlgorithm,   c.input,     c.weights,
            c.output, c.strides, c.pad_before, c.pad_after, attributes};
  }
  return {engine,   kTraining, kAlgorithm,   c.input,     c.weights, c.bias,
          c.output, c.strides, c.pad_before, c.pad_after, attributes};
}

BackwardDataDescription describe_backward_data(const dnnl::engine& engine, const DnnlConvolution& c,
                                               const dnnl::primitive_attr& attributes, const ForwardDescription& hint) {
  return {engine, kAlgorithm, c.input, c.weights, c.output, c.strides, c.pad_before, c.pad_after, hint, attributes};
}

BackwardWeightsDescription describe_backward_weights(const dnnl::engine& engine, const DnnlConvolution& c,
                                                     const dnnl::primitive_attr& attributes,
                                                     const ForwardDescription& hint) {
  return {engine, kAlgorithm, c.input, c.weights, c.output, c.strides, c.pad_before, c.pad_after, hint, attributes};
}

}  // namespace eave
