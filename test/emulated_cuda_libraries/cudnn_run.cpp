// Computes operation graphs of the emulated cuDNN: convolutions and their gradients from their definitions, with the
// strides of the tensor descriptors. It sums in double.
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "cuda_bf16.h"
#include "cudnn_state.h"

namespace eave::emulated_cuda {
namespace {

using Index = std::array<std::int64_t, 4>;  // as cuDNN counts: sample, channel, row, column

struct Tensor {
  std::int64_t name;
  cudnnDataType_t type;
  Index sizes, strides;
  bool is_virtual;
};

Index four(const std::vector<std::int64_t>& values) {
  if (values.size() != 4) throw CudnnError(CUDNN_STATUS_BAD_PARAM, "a tensor has four sizes");
  return {values[0], values[1], values[2], values[3]};
}

Tensor tensor(const Backend& operation, cudnnBackendAttributeName_t name) {
  const Backend& t = *operation.part(name);
  return {t.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID), t.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
          four(t.values<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
          four(t.values<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES)), t.value<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0};
}

std::int64_t place(const Tensor& t, const Index& at) {
  return at[0] * t.strides[0] + at[1] * t.strides[1] + at[2] * t.strides[2] + at[3] * t.strides[3];
}

template <class Visit>
void for_each(const Index& sizes, const Visit& visit) {
  for (std::int64_t a = 0; a < sizes[0]; ++a) {
    for (std::int64_t b = 0; b < sizes[1]; ++b) {
      for (std::int64_t c = 0; c < sizes[2]; ++c) {
        for (std::int64_t d = 0; d < sizes[3]; ++d) visit(Index{a, b, c, d});
      }
    }
  }
}

std::size_t places(const Tensor& t) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < 4; ++i) last += (t.sizes[i] - 1) * t.strides[i];
  return static_cast<std::size_t>(last + 1);
}

// The tensors of a run. Virtual tensors live only here, all others in the caller's memory.
class Tensors {
 public:
  explicit Tensors(std::map<std::int64_t, void*> addresses) : addresses_(std::move(addresses)) {}

  // The tensor's values, indexed by their position in memory.
  std::vector<float> read(const Tensor& t) {
    if (t.is_virtual) return virtual_.at(t.name);
    std::vector<float> values(places(t));
    if (t.type == CUDNN_DATA_FLOAT) {
      std::memcpy(values.data(), addresses_.at(t.name), values.size() * sizeof(float));
    } else {
      const auto* from = static_cast<const __nv_bfloat16*>(addresses_.at(t.name));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = __bfloat162float(from[i]);
    }
    return values;
  }
  void write(const Tensor& t, const std::vector<double>& values) {
    std::vector<float> rounded(values.begin(), values.end());
    if (t.is_virtual) {
      virtual_[t.name] = std::move(rounded);
    } else if (t.type == CUDNN_DATA_FLOAT) {
      std::memcpy(addresses_.at(t.name), rounded.data(), rounded.size() * sizeof(float));
    } else {
      auto* into = static_cast<__nv_bfloat16*>(addresses_.at(t.name));
      for (std::size_t i = 0; i < rounded.size(); ++i) into[i] = __float2bfloat16(rounded[i]);
    }
  }

 private:
  std::map<std::int64_t, void*> addresses_;
  std::map<std::int64_t, std::vector<float>> virtual_;
};

struct Convolution {
  Tensor input, filter, output;
  std::vector<std::int64_t> before, after, strides;

  // Visits every row of products (one product per input channel) with the row's first position in input, filter and
  // output.
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for_each(output.sizes, [&](const Index& out) {
      for_each({1, 1, filter.sizes[2], filter.sizes[3]}, [&](const Index& tap) {
        const std::int64_t row = out[2] * strides[0] + tap[2] - before[0];
        const std::int64_t column = out[3] * strides[1] + tap[3] - before[1];
        if (row < 0 || row >= input.sizes[2] || column < 0 || column >= input.sizes[3]) return;
        visit({place(input, {out[0], 0, row, column}), place(filter, {out[1], 0, tap[2], tap[3]}), place(output, out)});
      });
    });
  }
};

Convolution describe(const Backend& o, cudnnBackendAttributeName_t kind, cudnnBackendAttributeName_t input,
                     cudnnBackendAttributeName_t filter, cudnnBackendAttributeName_t output) {
  const Backend& c = *o.part(kind);
  return {tensor(o, input),
          tensor(o, filter),
          tensor(o, output),
          c.values<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          c.values<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
          c.values<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)};
}

Convolution convolution(const Backend& o) {
  if (o.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    return describe(o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  }
  if (o.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return describe(o, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  }
  return describe(o, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
}

// In four parts, which the processor adds up at the same time.
double dot(const float* a, const float* b, std::int64_t length) {
  double sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= length; i += 4) {
    for (std::int64_t k = 0; k < 4; ++k) sums[k] += double{a[i + k]} * double{b[i + k]};
  }
  for (; i < length; ++i) sums[0] += double{a[i]} * double{b[i]};
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add_scaled(double* sums, double factor, const float* values, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i) sums[i] += factor * double{values[i]};
}

// Sets each element of `into` to the sum of a · b over its products. `into`, `a` and `b` are input, filter and output
// in some order.
using Role = std::size_t;
constexpr Role kInput = 0, kFilter = 1, kOutput = 2;

void sum_products(Tensors& tensors, const Convolution& c, Role into, Role a, Role b) {
  const std::array<const Tensor*, 3> all = {&c.input, &c.filter, &c.output};
  const std::array<std::int64_t, 3> steps = {c.input.strides[1], c.filter.strides[1], 0};
  const std::vector<float> a_values = tensors.read(*all[a]), b_values = tensors.read(*all[b]);
  std::vector<double> sums(places(*all[into]));
  const std::int64_t channels = c.input.sizes[1];
  const bool are_side_by_side = steps[kInput] == 1 && steps[kFilter] == 1;
  c.for_each_row([&](const std::array<std::int64_t, 3>& begin) {
    double* sum = sums.data() + begin[into];
    const float* from_a = a_values.data() + begin[a];
    const float* from_b = b_values.data() + begin[b];
    if (are_side_by_side && into == kOutput) {
      *sum += dot(from_a, from_b, channels);
    } else if (are_side_by_side) {
      add_scaled(sum, *from_a, from_b, channels);
    } else {
      for (std::int64_t i = 0; i < channels; ++i)
        sum[i * steps[into]] += double{from_a[i * steps[a]]} * double{from_b[i * steps[b]]};
    }
  });
  tensors.write(*all[into], sums);
}

void run_convolution(const Backend& o, Tensors& tensors) {
  const Convolution c = convolution(o);
  if (o.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    sum_products(tensors, c, kOutput, kInput, kFilter);
  } else if (o.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    sum_products(tensors, c, kInput, kOutput, kFilter);
  } else {
    sum_products(tensors, c, kFilter, kOutput, kInput);
  }
}

// Whether the relu operation keeps NaN. Without this attribute cuDNN turns NaN into 0.
bool keeps_nan(const Backend& o) {
  const Backend& kind = *o.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  return kind.has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
         kind.value<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) == CUDNN_PROPAGATE_NAN;
}

void run_pointwise(const Backend& o, Tensors& tensors, bool drops_nan) {
  const bool nan_stays = keeps_nan(o) && !drops_nan;
  const Tensor from = tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const Tensor into = tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const bool adds = o.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const std::vector<float> values = tensors.read(from);
  const std::vector<float> more =
      adds ? tensors.read(tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) : std::vector<float>();
  std::vector<double> results(places(into));
  for_each(into.sizes, [&](const Index& at) {
    double value = values[static_cast<std::size_t>(place(from, at))];
    if (adds) {
      value += more[static_cast<std::size_t>(at[1])];
    } else if (value < 0 || (std::isnan(value) && !nan_stays)) {
      value = 0;
    }
    results[static_cast<std::size_t>(place(into, at))] = value;
  });
  tensors.write(into, results);
}

bool is_pointwise(const Backend& operation) { return operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR; }

std::vector<Tensor> tensors_of(const Backend& o) {
  if (!is_pointwise(o)) {
    const Convolution c = convolution(o);
    return {c.input, c.filter, c.output};
  }
  std::vector<Tensor> all = {tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                             tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
  if (o.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) all.push_back(tensor(o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  return all;
}

}  // namespace

void check_operation(const Backend& o) {
  if (is_pointwise(o)) {
    const Backend& kind = *o.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const bool adds = kind.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_ADD;
    if (adds != o.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
      throw CudnnError(CUDNN_STATUS_BAD_PARAM, "an addition has two operands, relu has one");
    return;
  }
  const Convolution c = convolution(o);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t room = c.input.sizes[2 + i] + c.before[i] + c.after[i] - c.filter.sizes[2 + i];
    if (c.output.sizes[2 + i] != room / c.strides[i] + 1)
      throw CudnnError(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the output's size does not follow from the input's");
  }
  if (c.input.sizes[1] != c.filter.sizes[1] || c.output.sizes[1] != c.filter.sizes[0])
    throw CudnnError(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the filter's channels are not those of the images");
}

std::function<void()> prepare_run(BackendPointer graph, const std::map<std::int64_t, void*>& addresses, void* workspace,
                                  std::size_t workspace_bytes, bool drops_nan) {
  std::map<std::int64_t, void*> unused = addresses;
  for (const BackendPointer& operation : graph->at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    for (const Tensor& t : tensors_of(*operation)) {
      if (t.is_virtual) continue;
      unused.erase(t.name);
      const auto given = addresses.find(t.name);
      if (given == addresses.end() || given->second == nullptr)
        throw CudnnError(CUDNN_STATUS_BAD_PARAM, "no memory for tensor " + std::to_string(t.name));
      if (reinterpret_cast<std::uintptr_t>(given->second) % 16 != 0)
        throw CudnnError(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "a tensor is not aligned as described");
    }
  }
  if (!unused.empty()) throw CudnnError(CUDNN_STATUS_BAD_PARAM, "memory for a tensor that is not in the graph");
  return [=] {
    std::memset(workspace, 0xff, workspace_bytes);
    Tensors tensors(addresses);
    for (const BackendPointer& operation : graph->at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors)
      is_pointwise(*operation) ? run_pointwise(*operation, tensors, drops_nan) : run_convolution(*operation, tensors);
    std::memset(workspace, 0xff, workspace_bytes);
  };
}

}  // namespace eave::emulated_cuda
