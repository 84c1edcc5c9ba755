// Layers: immutable descriptions that plan their work for a number of samples. All memory is lent by the model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eave/compute.h"
#include "eave/model.h"
#include "eave/random.h"
#include "nn/specification.h"

namespace eave {

// The part of a step that a layer's forward pass sees. Slices are for the planned number of samples.
struct ForwardCall {
  bool training;
  ConstSlice input, skip;  // skip: what a residual block adds; empty for others
  ConstSlice parameters, statistics;
  Slice moving_statistics;    // the same, to be moved; empty in evaluation
  Slice measured_statistics;  // to be set to those of this batch, by which it is normalised; empty: not wanted
  Slice output;
  Slice saved, scratch;             // saved is empty in evaluation
  MomentExchange* ranks = nullptr;  // in training: a layer that spans ranks works on the batches of all as on one
};

struct BackwardCall {
  ConstSlice input, output, parameters, saved;
  Slice d_output;     // consumed; a layer with a skip leaves the gradient of the skip here
  ConstSlice d_more;  // to be added to d_output; only for layers that take_two_gradients
  Slice d_input;      // empty: not wanted
  Slice d_parameters;
  Slice scratch;
  MomentExchange* ranks = nullptr;
};

class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  virtual std::int64_t saved_size() const { return 0; }  // floats
  virtual std::int64_t scratch_size() const { return 0; }
  virtual bool goes_back_in_place() const { return false; }  // d_input is where d_output was
  virtual void forward(const ForwardCall& call) = 0;
  virtual void backward(const BackwardCall& call) = 0;
};

// What a layer is planned for.
struct LayerUse {
  std::int64_t samples = 0;
  bool training = false;        // backward will be called too
  bool input_gradient = false;  // and asked for d_input
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string describe() const = 0;  // as in a summary: "conv2d 32 5x5, relu, max_pool 2"
  virtual ImageShape output() const = 0;
  // Names without the layer's own ("weight"), offsets relative to the layer's slice, both as aligned by lay_out.
  virtual std::vector<TensorInfo> parameters() const { return {}; }
  virtual std::vector<TensorInfo> statistics() const { return {}; }
  virtual void initialise(const RandomKey&, Slice /*parameters*/, Slice /*statistics*/) const {}
  // Takes over the work of the layer that follows in the text, so that both are one operation. False: it stands alone
  // (and this layer has seen what follows).
  virtual bool absorb(const LayerText& /*next*/) { return false; }
  virtual bool takes_two_gradients() const { return false; }
  // Which channels stand next to each other matters.
  virtual bool reads_neighbours() const { return false; }
  // With ForwardCall::ranks its passes meet those of other ranks, so it is planned for 0 samples too.
  virtual bool spans_ranks() const { return false; }
  // The output is the input in another shape: never planned.
  virtual bool is_view() const { return false; }
  virtual std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const = 0;
};

// What a layer is made from.
struct LayerContext {
  const LayerText& text;
  ImageShape input;
  int classes;
};

// A member of the layer family: one file in src/nn/layers and one word in its CMake list.
struct LayerKind {
  std::string name;
  std::string prefix;                                           // of its parameters' names: "conv" gives "conv1.weight"
  std::string usage;                                            // "conv2d OUT HxW [stride S] [pad P] [no_bias]"
  std::unique_ptr<Layer> (*make)(const LayerContext& context);  // throws through fail_layer and fail_fit
};

const std::vector<LayerKind>& layer_kinds();

std::int64_t aligned(std::int64_t size);  // up to a multiple of 16 floats
// Offsets tensors one after another, each at a multiple of 16 floats; returns the size of all, so aligned.
std::int64_t lay_out(std::vector<TensorInfo>& tensors);
TensorInfo make_tensor(std::string name, std::vector<std::int64_t> shape);
// The tensor's part of its layer's slice.
template <class AnySlice>
AnySlice part(AnySlice of_layer, const TensorInfo& tensor) {
  return of_layer.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.size));
}
// Weights to begin with: normal, mean 0, variance 1 / fan_in (LeCun et al. 1998). He's factor 2 is left out: max-pools
// raise the variance that relu halves, and with it lenet and cifar7 begin at two to three times the loss of chance.
void fill_weights(const RandomKey& key, double fan_in, Slice values);

}  // namespace eave
