// How files name and lay out a model's arrays, and what the model's layers do with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/slice.h"
#include "nn/graph.h"

namespace eave {

enum class TensorLayout {
  kEave,         // images NHWC; convolution weights [height, width, in, out], dense weights [in, out]
  kPytorch,      // as PyTorch's modules have them: images NCHW, weights [out, in, height, width] and [out, in], batch
                 // norm's weight, bias, running_mean and running_var
  kHuggingface,  // the arrays of Hugging Face's GPT-2 and Llama (huggingface.h)
};

// One array of a file, and the places of its values in the model's arena.
struct StoredTensor {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> shape;
  bool is_statistic = false;  // true: in the arena of statistics; false: of parameters
  std::int64_t offset = 0;    // in floats, in that arena
  std::int64_t size = 0;      // product of shape
  // The file's values are row-major over extents. A step along an axis is its stride in the arena, in floats.
  std::vector<std::int64_t> extents, strides;
};

// All arrays of a graph, parameters first.
//
// PyTorch flattens images channel by channel, eave pixel by pixel. If a layer reads a flattened image, its inputs are
// stored in the other order, so that both compute the same outputs.
//
// Throws Error(kConfiguration) for the rare model whose values have no place in PyTorch's order. Examples are a
// residual sum of two values that were flattened differently, and an image made of a flattened one. A normalisation
// over neighbouring channels of a flattened image is another. Hugging Face's layout has a place for models of GPT-2's
// and Llama's form only.
std::vector<StoredTensor> stored_tensors(const Graph& graph, TensorLayout layout);

// gather reads a tensor's values from the arena, in the file's order. scatter writes them to the arena.
std::vector<float> gather(const StoredTensor& tensor, ConstSlice arena);
void scatter(const StoredTensor& tensor, ConstSlice values, Slice arena);

// Describes in words what a model's layers compute. Libraries differ in these conventions, and the model's text and
// arrays do not show them. Whoever rebuilds the model elsewhere needs them.
//
// One line for each kind of layer in the model that has such a convention. The lines use the names that arrays have in
// `layout`.
std::string conventions_of(const std::string& specification, const Graph& graph, TensorLayout layout);

}  // namespace eave
