// The interface of a layer. A layer is an immutable description that makes a plan for a number of samples. The model
// lends all memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/operations.h"
#include "eave/model.h"
#include "eave/random.h"
#include "nn/specification.h"

namespace eave {

// The arguments of a layer's forward pass. Slices are for the planned number of samples.
struct ForwardCall {
  bool training;
  ConstSlice input, skip;  // skip: the values that a residual block adds; empty for other layers
  ConstSlice parameters, statistics;
  Slice moving_statistics;  // the same, which training moves; empty in evaluation
  // Not empty: the layer normalises by this batch's own statistics and writes them here.
  Slice measured_statistics;
  Slice output;
  Slice saved, scratch;  // saved is empty in evaluation
  // In training, a layer that spans ranks treats the batches of all ranks as one batch.
  MomentExchange* ranks = nullptr;
};

struct BackwardCall {
  ConstSlice input, output, parameters, saved;
  // May be overwritten. A layer with a skip leaves the gradient of the skip here.
  Slice d_output;
  ConstSlice d_more;  // a second part of d_output's gradient; only for layers that take_two_gradients
  Slice d_input;      // empty: not wanted
  Slice d_parameters;
  Slice scratch;
  MomentExchange* ranks = nullptr;
  // d_parameters holds the part of a layer that borrows the parameters (Node::borrows): add to it. Only for layers that
  // may lend theirs.
  bool adds = false;
};

// If it goes back in place, backward writes d_input over d_output.
using LayerPlan = GradientPlan<ForwardCall, BackwardCall>;

// The use for which a layer makes a plan.
struct LayerUse {
  std::int64_t samples = 0;
  bool training = false;        // the caller will also call backward
  bool input_gradient = false;  // backward must compute d_input
};

// What a layer does with the places of a window of tokens, apart from treating each by itself. Text that grows by one
// token at a time needs it (src/nn/growing_text.h).
struct PlaceRole {
  enum class Kind { kAlone, kTable, kRotary, kAttention };
  Kind kind = Kind::kAlone;
  AttentionShape heads = {};  // of kRotary and kAttention
  RotaryAngles angles = {};   // of kRotary
};

// The arguments of a model's last layer that computes the loss too. In training it computes the gradients at once.
struct LossCall {
  ConstSlice input, parameters;
  Slice d_input, d_parameters;  // empty: not wanted; both are empty in evaluation
  Slice scratch;
};
using LossLayerPlan = ForwardPlan<LossCall>;

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string describe() const = 0;  // as in a summary: "conv2d 32 5x5, relu, max_pool 2"
  virtual ImageShape output() const = 0;
  // A name lacks the layer's own: "weight". Offsets are relative to the layer's slice. lay_out aligns both lists.
  virtual std::vector<TensorInfo> parameters() const { return {}; }
  virtual std::vector<TensorInfo> statistics() const { return {}; }
  virtual void initialise(const RandomKey&, Slice /*parameters*/, Slice /*statistics*/) const {}
  // Takes over the work of the layer that follows in the text, so that both are one operation. False: the next layer
  // stands alone, and the builder does not ask this layer again.
  virtual bool absorb(const LayerText& /*next*/) { return false; }
  // Whether backward accepts BackwardCall::d_more.
  virtual bool takes_two_gradients() const { return false; }
  // Whether the result depends on which channels are neighbours.
  virtual bool reads_neighbours() const { return false; }
  // Whether the passes are collective if ForwardCall::ranks is set. Such a layer is planned for 0 samples too.
  virtual bool spans_ranks() const { return false; }
  virtual PlaceRole place_role() const { return {}; }
  // The channels of each part of the input, if its parts have different uses: queries, keys and values; a gate and the
  // values that it lets through. Empty: one part.
  virtual std::vector<std::int64_t> input_parts() const;
  // Whether the output is the input in another shape. Such a layer is never planned.
  virtual bool is_view() const { return false; }
  virtual std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const = 0;
  // Plans this layer, the last one of a model of tokens, and the loss as one operation. `smoothing` is LossShape's.
  // nullptr: the layer cannot.
  virtual std::unique_ptr<LossLayerPlan> plan_with_loss(Compute&, const LayerUse&, float /*smoothing*/) const {
    return nullptr;
  }
};

// The arguments from which a layer is made.
struct LayerContext {
  const LayerText& text;
  ImageShape input;
  int classes;
};

// A member of the layer family: one file in src/nn/layers and one word in its CMake list.
struct LayerKind {
  std::string name;
  std::string prefix;  // prefix of its parameters' names: "conv" gives "conv1.weight"
  std::string usage;   // "conv2d OUT HxW [stride S] [pad P] [no_bias]"
  std::unique_ptr<Layer> (*make)(const LayerContext& context);  // throws through fail_layer and fail_fit
  // The layer mixes pixels or samples, so behind an embedding a prediction would see later tokens. Such models are
  // refused.
  bool mixes_positions = false;
};

const std::vector<LayerKind>& layer_kinds();

std::int64_t aligned(std::int64_t size);  // rounds up to a multiple of 16 floats
// Sets the tensors' offsets, one after another, each a multiple of 16 floats. Returns the size of all, also a multiple
// of 16.
std::int64_t lay_out(std::vector<TensorInfo>& tensors);
TensorInfo make_tensor(std::string name, std::vector<std::int64_t> shape);
// The tensor's part of its layer's slice.
template <class AnySlice>
AnySlice part(AnySlice of_layer, const TensorInfo& tensor) {
  return of_layer.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.size));
}
// Fills in initial weights: normal, mean 0, variance 1 / fan_in (LeCun et al. 1998). He's factor 2 is left out, because
// max-pools raise the variance that relu halves. With the factor, lenet and cifar7 would begin at two to three times
// the loss of chance.
void fill_weights(const RandomKey& key, double fan_in, Slice values);
void fill_normal(const RandomKey& key, double deviation, Slice values);  // mean 0

// Reads "SIZE [stride S] [pad P]". The stride defaults to the window's height. Throws if the window does not fit the
// input.
PoolShape read_pool(const LayerContext& context);
// For a layer whose window is read: takes "stride S" or "pad P" if it is next, and returns whether it was.
bool take_window_option(ArgumentReader& arguments, Window& window);
void require_window_fits(const LayerContext& context, const Window& window, const ImageShape& output);

// Layer::absorb of a layer that can only be followed by one relu, which `relu` says it has.
bool absorb_relu(const LayerText& next, bool& relu);

// Makes the layer average_pool. global_pool is one whose window is the whole image.
std::unique_ptr<Layer> make_average_pool(const LayerText& text, const PoolShape& shape);

}  // namespace eave
