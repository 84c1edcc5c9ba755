// What a model's layers compute, in words: whoever rebuilds a model elsewhere from its text and its arrays cannot see
// these conventions, and libraries differ in them.
#pragma once

#include <string>

#include "nn/tensor_layout.h"

namespace eave {

// A line for each kind of layer in the model that has such a convention, by the names that arrays have in `layout`.
std::string conventions_of(const std::string& specification, const Graph& graph, TensorLayout layout);

}  // namespace eave
