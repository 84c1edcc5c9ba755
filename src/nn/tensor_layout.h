// How a model's arrays are named and laid out in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/slice.h"
#include "nn/graph.h"

namespace eave {

enum class TensorLayout {
  kEave,     // images NHWC; convolution weights [height, width, in, out], dense weights [in, out]
  kPytorch,  // as PyTorch's modules have them: images NCHW, weights [out, in, height, width] and [out, in], batch
             // norm's weight, bias, running_mean and running_var
};

// One array of a file, and where its values lie in the model's arena.
struct StoredTensor {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> shape;
  bool is_statistic = false;                   // of the statistics' arena, else of the parameters'
  std::int64_t offset = 0;                     // in floats, there
  std::int64_t size = 0;                       // product of shape
  std::vector<std::int64_t> extents, strides;  // the file's order of values: row-major over extents, each a step there
};

// All of a graph, parameters first. PyTorch flattens images channel by channel, eave pixel by pixel: what reads a
// flattened image has its inputs in the other order, so that both compute the same outputs. Throws
// Error(kConfiguration) for the rare model whose values have no place in PyTorch's order: a residual sum of two that
// were flattened differently, or an image made of a flattened one.
std::vector<StoredTensor> stored_tensors(const Graph& graph, TensorLayout layout);

// The values in the file's order, of the arena's and the other way round.
std::vector<float> gather(const StoredTensor& tensor, ConstSlice arena);
void scatter(const StoredTensor& tensor, ConstSlice values, Slice arena);

}  // namespace eave
