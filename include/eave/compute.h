// The arithmetic of one device, as layers see it. Layers are written once against this; only Compute differs between
// devices. All images are NHWC. Slices passed in are as long as the shape says (longer is allowed where they come from
// an arena); none may overlap unless said so.
//
// Activations and their gradients are numbers of the device's choice (bfloat16, say), in the memory of floats:
// activation_size() of them. Parameters, their gradients and statistics are always float32. An input and output of a
// layer are activations; what a layer saves is its own affair.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "eave/batch.h"
#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

struct DenseShape {
  std::int64_t samples = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool relu = false;
  bool training = true;        // backward will be called
  bool input_gradient = true;  // with d_input
};

struct Window {
  int height = 1;
  int width = 1;
  int stride = 1;
  int pad = 0;  // zeros on each side
  // Positions of the window along an image side of `size`; 0 or less: it does not fit.
  int rows(int size) const { return size + 2 * pad < height ? 0 : (size + 2 * pad - height) / stride + 1; }
  int columns(int size) const { return size + 2 * pad < width ? 0 : (size + 2 * pad - width) / stride + 1; }
};

// A convolution and what follows it directly: relu, then a max-pool of `pool` × `pool` without overlap (0: none).
struct ConvolutionShape {
  std::int64_t samples = 0;
  ImageShape input;
  Window window;
  int outputs = 0;  // channels
  bool bias = true;
  bool relu = false;
  int pool = 0;
  bool training = true;        // backward will be called
  bool input_gradient = true;  // with d_input
  ImageShape convolved() const { return {window.rows(input.height), window.columns(input.width), outputs}; }
  ImageShape output() const;  // after pooling; incomplete windows at the right and bottom are dropped
};

struct LinearForward {
  ConstSlice input, weights, bias;
  Slice output;
  Slice saved;    // kept for backward; empty in evaluation
  Slice scratch;  // contents mean nothing before and after
};

struct LinearBackward {
  ConstSlice input, weights, output, saved;
  Slice d_output;  // consumed: holds anything afterwards
  Slice d_input;   // empty: not wanted
  Slice d_weights, d_bias;
  Slice scratch;
};

// A dense layer or convolution, planned for one shape. Weights are [inputs, outputs] or [height, width, in, out]; an
// empty bias means none. Gradients are overwritten, not added to.
class LinearPlan {
 public:
  virtual ~LinearPlan() = default;
  virtual std::int64_t saved_size() const { return 0; }  // floats
  virtual std::int64_t scratch_size() const { return 0; }
  virtual void forward(const LinearForward& call) = 0;
  virtual void backward(const LinearBackward& call) = 0;
};

// Normalises each channel over all rows (samples × height × width), then scale and shift, then adds `skip` (when
// given), then relu. Ioffe and Szegedy 2015; variance is the biased one inside, the unbiased one in the running
// average.
struct BatchNormShape {
  std::int64_t rows = 0;  // 0: only with `ranks`; no pass needs to be begun then
  std::int64_t channels = 0;
  bool relu = false;
  bool has_skip = false;  // it is added before relu
};

// Brings together what batch norm measures of the batches of all ranks. Collective: every rank calls the same methods
// in the same order with as many values, those without rows too. Each call blocks. Values lie in the host's memory.
class MomentExchange {
 public:
  virtual ~MomentExchange() = default;
  virtual ConstSlice gather(ConstSlice mine) = 0;  // every rank's, in rank order; until the next call
  virtual void sum(Slice values) = 0;              // in place: over ranks, the same bits on all
};

struct BatchNormForward {
  ConstSlice input, skip, scale, shift;
  Slice output;
  Slice saved;                           // 2 × channels: mean, 1/deviation
  Slice running_mean, running_variance;  // moved towards this batch by kBatchNormMomentum; empty: not wanted.
                                         // A channel whose new values would not be finite stays.
  Slice variance;                        // set to this batch's, the biased one; empty: not wanted

  // Given: the batch is that of all ranks together, also where this one has 0 rows; all ranks move the same averages.
  // A rank whose own moments are not finite counts as one without rows. CPU only.
  MomentExchange* ranks = nullptr;
  double* rows_of_ranks = nullptr;  // with `ranks`: set to the rows that were counted
};

struct BatchNormBackward {
  ConstSlice input, output, scale, shift, saved;
  Slice d_output;     // afterwards, with a skip: the gradient of what relu was applied to, which is also the skip's
  ConstSlice d_more;  // added to d_output first; may be empty
  Slice d_input;      // empty: not wanted; may be d_output where norms_in_place() and there is no skip
  Slice d_scale, d_shift;

  // As in forward. d_scale and d_shift stay this rank's; d_input takes their sums over all ranks, in which those of a
  // rank where they are not finite count as 0.
  MomentExchange* ranks = nullptr;
  double rows_of_ranks = 0;  // as forward set it
};

struct BatchNormEvaluation {
  ConstSlice input, skip, scale, shift, mean, variance;
  Slice output;
};

inline constexpr float kBatchNormMomentum = 0.1f;
inline constexpr float kBatchNormEpsilon = 1e-5f;

struct PoolShape {
  std::int64_t samples = 0;
  ImageShape input;
  Window window;
  ImageShape output() const { return {window.rows(input.height), window.columns(input.width), input.channels}; }
};

// A shortcut without parameters past layers that shrink the image and widen it (He et al. 2016, option A): every
// stride-th pixel, zero channels added on both sides.
struct ShortcutShape {
  std::int64_t samples = 0;
  ImageShape input, output;
  int stride = 1;
};

// Zeroes each value with probability `rate`, scales the rest by 1/(1 − rate). Which ones follows from (seed, layer,
// step, dataset index of the sample, position) alone; seed, step and indices are the pass's.
struct DropoutShape {
  std::int64_t samples = 0;
  std::int64_t size = 0;  // per sample
  float rate = 0;
  std::uint32_t layer = 0;
};

// Local response normalisation (Krizhevsky et al. 2012, section 3.3, and its constants) of rows × channels values, a
// row for each pixel: output = input / s^beta, with s = bias + alpha · Σ input² over the channels of the same pixel at
// most `radius` away.
struct LocalResponseShape {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  int radius = 2;  // 1 … cpu::kLargestRadius of the kernels
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 2;  // more than 0
};

struct LossSum {
  double loss_sum = 0;
  std::int64_t correct = 0;
};

// What changes from one pass to the next of the same kind.
struct PassInputs {
  const Batch& batch;      // of at least one sample; outlives the pass
  std::uint64_t seed = 0;  // of dropout
  float loss_factor = 0;   // what softmax_cross_entropy's gradient is multiplied by
};

// What tells one kind of pass from another: passes of one kind make the same calls with the same shapes and slices, cut
// at the same places. So a device may record the first ones and replay them.
struct PassKind {
  const void* plan = nullptr;
  const float* parameters = nullptr;
  const float* statistics = nullptr;
  const float* gradients = nullptr;
  const float* arena = nullptr;
  std::int64_t parameter_size = 0;
  int variant = 0;
  friend auto operator<=>(const PassKind&, const PassKind&) = default;
};

// A dataset's images in the memory of a device, as bytes; batches find theirs by index.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
};

// What becomes of an image's bytes on the way to a model: a border of `pad` black pixels, a crop, maybe mirrored, and
// for each byte the number that its channel's table has for it. `random`: where the crop stands and whether the image
// is mirrored (if `flip`) follows from (seed, step, dataset index), as under Augmentation; else the crop is in the
// centre.
struct ImagePlacing {
  ImageShape input, output;
  int pad = 0;
  bool flip = false;
  bool random = false;
  std::uint64_t seed = 0;
  std::span<const std::array<float, 256>> tables;  // of each channel
};

inline constexpr std::int64_t kKeptLosses = 4;

// Used by one thread at a time, the one that made it. Plans belong to the Compute that made them and must not outlive
// it. What is called takes place in the order of its Device's queue.
class Compute {
 public:
  virtual ~Compute() = default;
  virtual Device& device() = 0;
  virtual std::int64_t activation_size(std::int64_t values) const = 0;  // floats that so many activations take
  // Gradients are best exchanged in parts of at least so many floats: finer ones would cost this device more.
  virtual std::int64_t smallest_part() const = 0;

  // Brings a dataset's images to the device, where batches may then leave their inputs out. `read` writes the bytes of
  // the image of an index, HWC. nullptr: they are better left in the host's memory, or there is no room for them.
  // Throws what `read` throws. It belongs to this Compute and must not outlive it.
  virtual std::unique_ptr<DeviceImages> load_images(
      std::int64_t count, const ImagePlacing& placing,
      const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read) = 0;

  // Only for planning, not in a pass.
  virtual std::unique_ptr<LinearPlan> plan_dense(const DenseShape& shape) = 0;
  virtual std::unique_ptr<LinearPlan> plan_convolution(const ConvolutionShape& shape) = 0;

  // All that follows, and the plans' work, is called between begin_pass and end_pass. Returns the batch's inputs as
  // activations in the device's memory.
  virtual ConstSlice begin_pass(const PassKind& kind, const PassInputs& inputs) = 0;
  // What was called so far is on its way: others may ask the Device for what comes after.
  virtual void cut() = 0;
  // Memory or plans that passes worked with are about to go, maybe because the device has failed in one.
  virtual void forget_passes() noexcept = 0;
  // Returns the ticket for the pass's loss.
  virtual std::int64_t end_pass() = 0;
  // What softmax_cross_entropy found in that pass. Blocks until it is known; those of the last kKeptLosses
  // passes are kept.
  virtual LossSum loss(std::int64_t ticket) = 0;
  // In a pass, after softmax_cross_entropy: whether its loss is known not to be finite. False where that would have to
  // be waited for.
  virtual bool loss_is_not_finite() const { return false; }

  virtual bool norms_in_place() const { return false; }
  virtual void batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) = 0;
  virtual void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) = 0;
  virtual void batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) = 0;

  // `winners` has a byte per output, in the memory of floats: pool_winners_size(shape) of them; empty in evaluation.
  virtual void max_pool_forward(const PoolShape& shape, ConstSlice input, Slice output, Slice winners) = 0;
  virtual void max_pool_backward(const PoolShape& shape, ConstSlice winners, ConstSlice d_output, Slice d_input) = 0;
  // Zeros of the padding count as values.
  virtual void average_pool_forward(const PoolShape& shape, ConstSlice input, Slice output) = 0;
  virtual void average_pool_backward(const PoolShape& shape, ConstSlice d_output, Slice d_input) = 0;

  virtual void local_response_norm_forward(const LocalResponseShape& shape, ConstSlice input, Slice output) = 0;
  // `input` is forward's.
  virtual void local_response_norm_backward(const LocalResponseShape& shape, ConstSlice input, ConstSlice d_output,
                                            Slice d_input) = 0;

  // In relu_…, output may be input and d_input may be d_output.
  virtual void relu_forward(ConstSlice input, Slice output) = 0;
  virtual void relu_backward(ConstSlice output, ConstSlice d_output, Slice d_input) = 0;
  virtual void dropout_forward(const DropoutShape& shape, ConstSlice input, Slice output) = 0;
  virtual void dropout_backward(const DropoutShape& shape, ConstSlice d_output, Slice d_input) = 0;
  virtual void shortcut_forward(const ShortcutShape& shape, ConstSlice input, Slice output) = 0;
  virtual void shortcut_backward(const ShortcutShape& shape, ConstSlice d_output, Slice d_input) = 0;
  virtual void add(ConstSlice a, ConstSlice b, Slice sum) = 0;  // of activations; sum may be a or b
  virtual void copy(ConstSlice from, Slice into) = 0;           // any floats
  virtual void fill(Slice values, float value) = 0;             // float32

  // Softmax cross-entropy summed over the batch, to be asked for with the pass's ticket. `d_logits` (empty: not wanted)
  // gets its gradient times the pass's loss_factor. A sample counts as correct when its label's logit is the largest
  // (the first of equals wins).
  virtual void softmax_cross_entropy(std::int64_t classes, ConstSlice logits, Slice d_logits) = 0;
};

std::int64_t pool_winners_size(const PoolShape& shape);  // floats

// Arithmetic on the calling thread's core (and `threads` − 1 more). Prepares the calling thread as below.
std::unique_ptr<Compute> make_cpu_compute(int threads);

// For a thread that computes: `threads` OpenMP threads, and denormal numbers read and written as zero (with a saturated
// softmax they make a step several times slower). Called by make_cpu_compute; a thread that uses flat algebra only may
// call it itself.
void prepare_compute_thread(int threads);

}  // namespace eave
