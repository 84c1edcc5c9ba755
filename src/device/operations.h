// The operations of layers: their shapes, and the plans that Compute::plan makes of them. All images are NHWC.
//
// A new operation is a shape with the name of its plan, an entry of AnyShape, and one function per device that
// makes the plan (make_cpu_plan of src/device/cpu/cpu_plans.h, make_plan of src/device/cuda/plans/plans.h).
//
// A slice that is passed to a plan is as long as the shape says; slices of an arena may be longer. Slices must not
// overlap unless the comment allows it. Inputs, outputs and their gradients are activations (eave/compute.h), unless
// the comment says float32.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <variant>

#include "eave/batch.h"
#include "eave/compute.h"
#include "eave/slice.h"

namespace eave {

// An operation of one shape. Its calls may be made only between Compute::begin_pass and end_pass.
class OperationPlan {
 public:
  virtual ~OperationPlan() = default;
  virtual std::int64_t saved_size() const { return 0; }      // floats that forward saves for backward
  virtual std::int64_t scratch_size() const { return 0; }    // floats of working memory
  virtual bool goes_back_in_place() const { return false; }  // backward accepts d_output as d_input
};

// The arguments of forward and backward differ between kinds of operations. The caller lends all memory: `saved` is
// kept from forward to backward, and empty in evaluation; the content of `scratch` has no meaning before or after a
// call.
template <class Forward>
class ForwardPlan : public OperationPlan {
 public:
  virtual void forward(const Forward& call) = 0;
};
template <class Forward, class Backward>
class GradientPlan : public ForwardPlan<Forward> {
 public:
  virtual void backward(const Backward& call) = 0;
};

// Dense layers and convolutions. Weights are [inputs, outputs] or [height, width, in, out]. An empty bias means that
// there is none. backward overwrites the gradients; it does not add to them.
struct LinearForward {
  ConstSlice input, weights, bias;
  Slice output;
  Slice saved, scratch;
};
struct LinearBackward {
  ConstSlice input, weights, output, saved;
  Slice d_output;  // overwritten: its content has no meaning afterwards
  Slice d_input;   // empty if not wanted
  Slice d_weights, d_bias;
  Slice scratch;
};
using LinearPlan = GradientPlan<LinearForward, LinearBackward>;

struct DenseShape {
  using Plan = LinearPlan;
  std::int64_t samples = 0;  // rows: of a window of tokens, each position is one
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool relu = false;
  bool training = true;        // backward will be called
  bool input_gradient = true;  // backward computes d_input too
  bool bias = true;
  bool transposed = false;  // weights are [outputs, inputs], as in a table of tokens. Without relu.
};

struct Window {
  int height = 1;
  int width = 1;
  int stride = 1;
  int pad = 0;  // zeros on each side
  // Number of window positions along an image side of `size`. 0 or less means that the window does not fit.
  int rows(int size) const { return size + 2 * pad < height ? 0 : (size + 2 * pad - height) / stride + 1; }
  int columns(int size) const { return size + 2 * pad < width ? 0 : (size + 2 * pad - width) / stride + 1; }
};

// A convolution, then optionally relu, then optionally a max-pool of `pool` × `pool` without overlap (0: no pooling).
struct ConvolutionShape {
  using Plan = LinearPlan;
  std::int64_t samples = 0;
  ImageShape input;
  Window window;
  int outputs = 0;  // channels
  bool bias = true;
  bool relu = false;
  int pool = 0;
  bool training = true;        // backward will be called
  bool input_gradient = true;  // backward computes d_input too
  ImageShape convolved() const { return {window.rows(input.height), window.columns(input.width), outputs}; }
  // After pooling. Incomplete windows at the right and bottom are dropped.
  ImageShape output() const {
    const ImageShape full = convolved();
    return pool == 0 ? full : ImageShape{full.height / pool, full.width / pool, full.channels};
  }
};

struct BatchNormForward {
  ConstSlice input, skip, scale, shift;
  Slice output;
  Slice saved;  // 2 × channels, float32: mean, 1/deviation. Also needed if backward is not called.
  Slice scratch;
  // Moved towards this batch's moments by kBatchNormMomentum; empty if not wanted. A channel keeps its old values if a
  // new one would not be finite.
  Slice running_mean, running_variance;
  Slice variance;  // set to this batch's biased variance; empty if not wanted

  // If not nullptr, the batches of all ranks together form the batch, also if this rank has 0 rows. All ranks move the
  // running averages alike. A rank whose own moments are not finite counts as a rank without rows. CPU only.
  MomentExchange* ranks = nullptr;
  double* rows_of_ranks = nullptr;  // with `ranks`: set to the number of rows that were counted
};
struct BatchNormBackward {
  ConstSlice input, output, scale, shift, saved;
  Slice d_output;     // with a skip, set to the gradient of relu's input, which is also the gradient of the skip
  ConstSlice d_more;  // added to d_output first; may be empty
  Slice d_input;      // empty if not wanted; may be d_output if goes_back_in_place()
  Slice d_scale, d_shift;
  Slice scratch;

  // As in BatchNormForward. d_scale and d_shift are those of this rank's rows. d_input is computed from their sums over
  // all ranks; a rank where they are not finite counts as 0 in these sums.
  MomentExchange* ranks = nullptr;
  double rows_of_ranks = 0;  // the number that forward returned
};

// Batch norm (Ioffe and Szegedy 2015): normalises each channel over all rows (samples × height × width), applies scale
// and shift, adds `skip` if there is one, then applies relu. It normalises by the biased variance, and puts the
// unbiased variance into the running average. Parameters and statistics are float32.
struct BatchNormShape {
  using Plan = GradientPlan<BatchNormForward, BatchNormBackward>;
  std::int64_t rows = 0;  // may be 0 only if BatchNormForward::ranks is given; then no pass has to be begun
  std::int64_t channels = 0;
  bool relu = false;
  bool has_skip = false;  // adds `skip` before relu
};

inline constexpr float kBatchNormMomentum = 0.1f;
inline constexpr float kBatchNormEpsilon = 1e-5f;

struct FixedNormForward {
  ConstSlice input, skip, scale, shift, mean, variance;
  Slice output;
  Slice scratch;
};

// Batch norm in evaluation: normalises by given statistics.
struct FixedNormShape {
  using Plan = ForwardPlan<FixedNormForward>;
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  bool relu = false;
};

// Operations of one activation. backward reads only what the comment of the shape names; the rest may be empty or
// overwritten by then.
struct UnaryForward {
  ConstSlice input;
  Slice output;
  Slice saved;
};
struct UnaryBackward {
  ConstSlice input, output, saved;
  ConstSlice d_output;
  Slice d_input;
};
using UnaryPlan = GradientPlan<UnaryForward, UnaryBackward>;

struct PoolShape {
  std::int64_t samples = 0;
  ImageShape input;
  Window window;
  ImageShape output() const { return {window.rows(input.height), window.columns(input.width), input.channels}; }
};

// backward reads `saved`.
struct MaxPoolShape : PoolShape {
  using Plan = UnaryPlan;
};

// The mean includes the zeros of the padding.
struct AveragePoolShape : PoolShape {
  using Plan = UnaryPlan;
};

// Local response normalisation (Krizhevsky et al. 2012, section 3.3, with its constants) of rows × channels values;
// each row is a pixel. output = input / s^beta, with s = bias + alpha · Σ input². The sum runs over the channels of the
// same pixel that are at most `radius` away. backward reads `input`.
struct LocalResponseShape {
  using Plan = UnaryPlan;
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  int radius = 2;  // 1 … cpu::kLargestRadius of the kernels
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 2;  // more than 0
};

// An elementwise activation of any number of values: a word of kernels/elementwise, whose header gives its formula and
// says what its parameter is. That folder's list of words defines the enum (kernels/elementwise/words.h). `output` may
// be `input`, and `d_input` may be `d_output`. backward reads `input`, but `output` for relu.
enum class Elementwise : int;
struct ActivationShape {
  using Plan = UnaryPlan;
  Elementwise word;
  float parameter = 0;  // without meaning if the word has none
};

// Zeroes each value with probability `rate` and scales the others by 1/(1 − rate). The choice depends only on (seed,
// layer, step, dataset index of the sample, position). Seed, step and indices come from the pass (PassInputs).
struct DropoutShape {
  using Plan = UnaryPlan;
  std::int64_t samples = 0;
  std::int64_t size = 0;  // values per sample
  float rate = 0;
  std::uint32_t layer = 0;
};

// A shortcut without parameters around layers that shrink the image and add channels (He et al. 2016, option A). It
// takes every stride-th pixel and adds zero channels on both sides.
struct ShortcutShape {
  using Plan = UnaryPlan;
  std::int64_t samples = 0;
  ImageShape input, output;
  int stride = 1;
};

// Operations of windows of tokens. A window is positions × 1 × channels, so its rows are its positions.

// The rows of `table` that the tokens name, plus the rows of `places` for their positions. Tokens are whole numbers in
// [0, vocabulary) of type float32: the batch's inputs as the pass got them, whatever the type of activations is. Tables
// are float32: [vocabulary, width] and [places, width].
struct EmbeddingForward {
  ConstSlice tokens, table, places;  // places: empty if there are none
  Slice output;
};
struct EmbeddingBackward {
  ConstSlice tokens, d_output;
  Slice d_table, d_places;
  bool adds = false;  // adds to d_table, which holds another layer's part of the gradient; otherwise overwrites it
  Slice scratch;
};
struct EmbeddingShape {
  using Plan = GradientPlan<EmbeddingForward, EmbeddingBackward>;
  std::int64_t samples = 0;
  std::int64_t positions = 0;  // tokens of a sample; at most `places` if there are any
  std::int64_t vocabulary = 0;
  std::int64_t places = 0;
  std::int64_t width = 0;
};

struct RowNormForward {
  ConstSlice input, scale, shift;  // shift: empty if there is none
  Slice output;
  Slice saved;
};
struct RowNormBackward {
  ConstSlice input, scale, saved, d_output;
  Slice d_input;  // empty if not wanted
  Slice d_scale, d_shift;
  Slice scratch;
};

// Normalises each row over its channels, then applies scale and shift. Layer norm (Ba et al. 2016) subtracts the row's
// mean and divides by √(variance + epsilon). RMS norm (Zhang and Sennrich 2019) divides by √(mean square + epsilon).
struct RowNormShape {
  using Plan = GradientPlan<RowNormForward, RowNormBackward>;
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  bool centred = true;  // layer norm; false: RMS norm
  float epsilon = 1e-5f;
};

struct AttentionForward {
  ConstSlice input;
  Slice output;
  Slice saved, scratch;
};
struct AttentionBackward {
  ConstSlice input, output, saved, d_output;
  Slice d_input;
  Slice scratch;
};

// Causal self-attention (Vaswani et al. 2017): each position looks at itself and all earlier ones. A row of the input
// has the queries of all heads, then the keys and then the values of all groups; a row of the output has the heads'
// results. Neighbouring heads share the keys and values of a group (Ainslie et al. 2023). The matrix of positions ×
// positions is never in memory: a few of its rows are, and backward computes them again from `saved`, which has one
// number per head and position (Dao et al. 2022).
struct AttentionShape {
  using Plan = GradientPlan<AttentionForward, AttentionBackward>;
  std::int64_t samples = 0;
  std::int64_t positions = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;  // divides heads
  std::int64_t width = 0;   // of a head
  // In training each share becomes 0 with this probability, and the others are divided by 1 − dropout, as in Vaswani et
  // al. 2017. The choice depends only on (seed, layer, step, dataset index of the sample, head, position, position that
  // it looks at).
  float dropout = 0;
  std::uint32_t layer = 0;
  std::int64_t input_row() const { return (heads + 2 * groups) * width; }
  std::int64_t output_row() const { return heads * width; }
};

// The angles of rotary positions (Su et al. 2021). From one position to the next, pair i of a head of `width` numbers
// turns by a_i = base^(−2i / width), divided by `stretch`. If `trained` is above 0, as in Llama 3.1, the angle depends
// on n_i, how often the pair turns fully in `trained` positions:
//     n_i ≤ low    a_i / stretch
//     n_i ≥ high   a_i
//     between      k a_i + (1 − k) a_i / stretch,  k = (n_i − low) / (high − low)
struct RotaryAngles {
  float base = 10000, stretch = 1;
  float low = 0, high = 0, trained = 0;
  bool is_stretched() const { return stretch != 1 || trained > 0; }
  double of_pair(std::int64_t pair, std::int64_t width) const;  // in radians
  bool operator==(const RotaryAngles&) const = default;
};

inline double RotaryAngles::of_pair(std::int64_t pair, std::int64_t width) const {
  const double angle = std::pow(double{base}, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
  if (trained == 0) return angle / stretch;
  const double turns = trained * angle / (2 * std::numbers::pi);
  if (turns >= high) return angle;
  if (turns <= low) return angle / stretch;
  const double kept = (turns - low) / (double{high} - low);
  return kept * angle + (1 - kept) * angle / stretch;
}

// Rotary positions for the rows that attention reads: turns each pair of numbers of the queries and keys by its
// position times the pair's angle. Pair i has the numbers i and i + width / 2, as in Hugging Face's Llama. Values are
// copied.
struct RotaryShape {
  using Plan = UnaryPlan;
  AttentionShape of;  // its width is even
  RotaryAngles angles;
};

// output = word(first half of the row) × second half, for an elementwise word without parameter: silu gives SwiGLU
// (Shazeer 2020). A row of the input has 2 × channels numbers. backward reads `input`.
struct GatedShape {
  using Plan = UnaryPlan;
  Elementwise word{};
  std::int64_t rows = 0;
  std::int64_t channels = 0;  // of the output
};

struct LossForward {
  ConstSlice logits;
  Slice d_logits;  // set to the gradient times the pass's loss_factor; empty if not wanted
  Slice scratch;
};

// Softmax cross-entropy with the labels of the pass, summed over its batch. Compute::loss returns the sum. A row counts
// as correct if its label's logit is the largest. If several logits are the largest, the first one counts. A row whose
// label is kNoLabel adds nothing, and its gradient is 0.
struct LossShape {
  using Plan = ForwardPlan<LossForward>;
  std::int64_t rows = 0;  // samples of the pass × targets
  std::int64_t classes = 0;
  std::int64_t targets = 1;  // rows of a sample: Batch::targets
  // The share of each label that is spread evenly over all classes (Szegedy et al. 2016, section 7): the loss is
  // (1 − smoothing) · cross-entropy with the label + smoothing · mean cross-entropy with every class.
  float smoothing = 0;
};

struct DenseLossForward {
  ConstSlice input, weights, bias;
  Slice d_input;            // set to the gradient; empty if not wanted
  Slice d_weights, d_bias;  // in training, overwritten by the gradients
  Slice scratch;
};

// The last dense layer of a model and LossShape's loss in one. Only some rows' logits are in memory at a time. If
// `dense` trains, forward computes the gradients as well.
struct DenseLossShape {
  using Plan = ForwardPlan<DenseLossForward>;
  DenseShape dense;          // its samples are LossShape's rows; without relu
  std::int64_t targets = 1;  // as in LossShape
  float smoothing = 0;       // in training, as in LossShape
};

struct LossGateForward {
  Slice values;  // float32
};

// Called after the loss of the pass. If that loss is not finite, sets `values` to NaN; else it leaves them. The host
// does not wait for the loss.
struct LossGateShape {
  using Plan = ForwardPlan<LossGateForward>;
};

using AnyShape =
    std::variant<DenseShape, ConvolutionShape, BatchNormShape, FixedNormShape, MaxPoolShape, AveragePoolShape,
                 LocalResponseShape, ActivationShape, DropoutShape, ShortcutShape, EmbeddingShape, RowNormShape,
                 AttentionShape, RotaryShape, GatedShape, LossShape, DenseLossShape, LossGateShape>;
struct OperationShape : AnyShape {
  using AnyShape::AnyShape;
};

}  // namespace eave
