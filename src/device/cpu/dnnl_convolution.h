// Descriptions of oneDNN's convolutions. oneDNN 2 and 3 build them differently: dnnl_v2.cpp and dnnl_v3.cpp both define
// these functions, and CMake compiles the one that fits the installed library.
#pragma once

#include <dnnl.hpp>

namespace eave {

struct DnnlConvolution {
  dnnl::memory::desc input, weights, bias, output;  // a bias without dimensions means no bias
  dnnl::memory::dims strides, pad_before, pad_after;
};

using ForwardDescription = dnnl::convolution_forward::primitive_desc;
using BackwardDataDescription = dnnl::convolution_backward_data::primitive_desc;
using BackwardWeightsDescription = dnnl::convolution_backward_weights::primitive_desc;

ForwardDescription describe_forward(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                    const dnnl::primitive_attr& attributes);
BackwardDataDescription describe_backward_data(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                               const dnnl::primitive_attr& attributes, const ForwardDescription& hint);
BackwardWeightsDescription describe_backward_weights(const dnnl::engine& engine, const DnnlConvolution& convolution,
                                                     const dnnl::primitive_attr& attributes,
                                                     const ForwardDescription& hint);

}  // namespace eave
