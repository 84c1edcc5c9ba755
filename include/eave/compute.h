// The arithmetic of one device, as layers see it. Each layer is written once against this interface; only Compute
// differs between devices. All images are NHWC. A slice that is passed in is as long as the shape says; slices of an
// arena may be longer. Slices must not overlap unless the comment allows it.
//
// A layer's input and output are activations. The device chooses the number type of activations and of their gradients
// (bfloat16, for example). They are stored in memory of floats: activation_size() says how many floats they take.
// Parameters, their gradients and statistics are always float32. Each layer chooses the format of what it saves.
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
  bool input_gradient = true;  // backward computes d_input too
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

struct LinearForward {
  ConstSlice input, weights, bias;
  Slice output;
  Slice saved;    // kept for backward; empty in evaluation
  Slice scratch;  // working memory; its content has no meaning before or after the call
};

struct LinearBackward {
  ConstSlice input, weights, output, saved;
  Slice d_output;  // overwritten: its content has no meaning afterwards
  Slice d_input;   // empty if not wanted
  Slice d_weights, d_bias;
  Slice scratch;
};

// A dense layer or convolution, planned for one shape. Weights are [inputs, outputs] or [height, width, in, out]. An
// empty bias means that there is none. backward overwrites the gradients; it does not add to them.
class LinearPlan {
 public:
  virtual ~LinearPlan() = default;
  virtual std::int64_t saved_size() const { return 0; }    // floats
  virtual std::int64_t scratch_size() const { return 0; }  // floats
  virtual void forward(const LinearForward& call) = 0;
  virtual void backward(const LinearBackward& call) = 0;
};

// Batch norm (Ioffe and Szegedy 2015): normalises each channel over all rows (samples × height × width), applies scale
// and shift, adds `skip` if there is one, then applies relu. It normalises by the biased variance, and puts the
// unbiased variance into the running average.
struct BatchNormShape {
  std::int64_t rows = 0;  // may be 0 only if BatchNormForward::ranks is given; then no pass has to be begun
  std::int64_t channels = 0;
  bool relu = false;
  bool has_skip = false;  // adds `skip` before relu
};

// Combines the moments that batch norm measures on the batches of all ranks. Collective: every rank, also one without
// rows, calls the same methods in the same order with as many values. Each call blocks. Values lie in host memory.
class MomentExchange {
 public:
  virtual ~MomentExchange() = default;
  virtual ConstSlice gather(ConstSlice mine) = 0;  // every rank's values, in rank order; valid until the next call
  virtual void sum(Slice values) = 0;              // in place; sums over ranks, with the same bits on all
};

struct BatchNormForward {
  ConstSlice input, skip, scale, shift;
  Slice output;
  Slice saved;  // 2 × channels: mean, 1/deviation
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
  Slice d_input;      // empty if not wanted; may be d_output if norms_in_place() and there is no skip
  Slice d_scale, d_shift;

  // As in BatchNormForward. d_scale and d_shift are those of this rank's rows. d_input is computed from their sums over
  // all ranks; a rank where they are not finite counts as 0 in these sums.
  MomentExchange* ranks = nullptr;
  double rows_of_ranks = 0;  // the number that forward returned
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

// A shortcut without parameters around layers that shrink the image and add channels (He et al. 2016, option A). It
// takes every stride-th pixel and adds zero channels on both sides.
struct ShortcutShape {
  std::int64_t samples = 0;
  ImageShape input, output;
  int stride = 1;
};

// Zeroes each value with probability `rate` and scales the others by 1/(1 − rate). The choice depends only on (seed,
// layer, step, dataset index of the sample, position). Seed, step and indices come from PassInputs.
struct DropoutShape {
  std::int64_t samples = 0;
  std::int64_t size = 0;  // values per sample
  float rate = 0;
  std::uint32_t layer = 0;
};

// Local response normalisation (Krizhevsky et al. 2012, section 3.3, with its constants) of rows × channels values;
// each row is a pixel. output = input / s^beta, with s = bias + alpha · Σ input². The sum runs over the channels of the
// same pixel that are at most `radius` away.
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

// The inputs of a pass that differ between passes of the same kind.
struct PassInputs {
  const Batch& batch;      // has at least one sample; outlives the pass
  std::uint64_t seed = 0;  // for dropout
  float loss_factor = 0;   // softmax_cross_entropy multiplies its gradient by this
};

// Identifies a kind of pass. Passes of one kind make the same calls, with the same shapes and slices, and call cut() at
// the same places. So a device may record the first passes and replay them (CUDA graphs).
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

// A dataset's images in the memory of a device, as bytes. A batch refers to its images by index.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
};

// How an image's bytes become a model's input: a border of `pad` black pixels is added, the image is cropped to
// `output` and maybe mirrored, and each byte is replaced by the entry of its channel's table. If `random`, the place of
// the crop, and with `flip` whether the image is mirrored, follow from (seed, step, dataset index), as under
// Augmentation. Otherwise the crop is in the centre and the image is not mirrored.
struct ImagePlacing {
  ImageShape input, output;
  int pad = 0;
  bool flip = false;
  bool random = false;
  std::uint64_t seed = 0;
  std::span<const std::array<float, 256>> tables;  // one per channel
};

// An elementwise activation: a word of kernels/elementwise, whose header gives its formula and says what its parameter
// is. That folder's list of words defines the enum (kernels/elementwise/words.h).
enum class Elementwise : int;
struct Activation {
  Elementwise word;
  float parameter = 0;  // without meaning if the word has none
};

inline constexpr std::int64_t kKeptLosses = 4;  // number of last passes whose loss can be asked for

// Only the thread that made a Compute uses it. Plans belong to the Compute that made them and must not outlive it.
// Calls are carried out in the order of the queue of device().
class Compute {
 public:
  virtual ~Compute() = default;
  virtual Device& device() = 0;
  virtual std::int64_t activation_size(std::int64_t values) const = 0;  // floats that this many activations take
  // The smallest part, in floats, in which gradients should be exchanged: smaller parts would slow this device down.
  virtual std::int64_t smallest_part() const = 0;

  // Copies a dataset's images to the device, so that batches may omit their inputs (Batch::images). `read` writes the
  // bytes of the image with the given index, HWC. Returns nullptr if the images should stay in host memory or do not
  // fit into the device's. Throws what `read` throws. The result must not outlive this Compute.
  virtual std::unique_ptr<DeviceImages> load_images(
      std::int64_t count, const ImagePlacing& placing,
      const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read) = 0;

  // These two may be called only outside a pass.
  virtual std::unique_ptr<LinearPlan> plan_dense(const DenseShape& shape) = 0;
  virtual std::unique_ptr<LinearPlan> plan_convolution(const ConvolutionShape& shape) = 0;

  // Begins a pass. The plans, and the operations further below, may be called only between begin_pass and end_pass.
  // Returns the batch's inputs as activations in the device's memory.
  virtual ConstSlice begin_pass(const PassKind& kind, const PassInputs& inputs) = 0;
  // Called in a pass: sends all calls so far to the device's queue. Work that is given to the Device from now on comes
  // after them.
  virtual void cut() = 0;
  // Call it before freeing memory or plans that passes have used, also after the device has failed in a pass. Drops all
  // recorded passes.
  virtual void forget_passes() noexcept = 0;
  // Ends the pass and returns the ticket for its loss.
  virtual std::int64_t end_pass() = 0;
  // The result of softmax_cross_entropy in the pass with this ticket, one of the last kKeptLosses passes. Blocks until
  // it is known.
  virtual LossSum loss(std::int64_t ticket) = 0;
  // Called in a pass, after softmax_cross_entropy. True if the loss is known not to be finite. False if it is finite,
  // or if the caller would have to wait for it.
  virtual bool loss_is_not_finite() const { return false; }

  // Whether batch_norm_backward accepts d_output as d_input.
  virtual bool norms_in_place() const { return false; }
  virtual void batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) = 0;
  virtual void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) = 0;
  virtual void batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) = 0;

  // `winners` stores one byte per output, in pool_winners_size(shape) floats. It is empty in evaluation.
  virtual void max_pool_forward(const PoolShape& shape, ConstSlice input, Slice output, Slice winners) = 0;
  virtual void max_pool_backward(const PoolShape& shape, ConstSlice winners, ConstSlice d_output, Slice d_input) = 0;
  // The mean includes the zeros of the padding.
  virtual void average_pool_forward(const PoolShape& shape, ConstSlice input, Slice output) = 0;
  virtual void average_pool_backward(const PoolShape& shape, ConstSlice d_output, Slice d_input) = 0;

  virtual void local_response_norm_forward(const LocalResponseShape& shape, ConstSlice input, Slice output) = 0;
  // `input` is the input of the forward call.
  virtual void local_response_norm_backward(const LocalResponseShape& shape, ConstSlice input, ConstSlice d_output,
                                            Slice d_input) = 0;

  // `output` may be `input`. But backward reads the input of all words except relu, and for relu the output; the other
  // one may be empty or overwritten by then. `d_input` may be `d_output`.
  virtual void activation_forward(const Activation& activation, ConstSlice input, Slice output) = 0;
  virtual void activation_backward(const Activation& activation, ConstSlice input, ConstSlice output,
                                   ConstSlice d_output, Slice d_input) = 0;
  virtual void dropout_forward(const DropoutShape& shape, ConstSlice input, Slice output) = 0;
  virtual void dropout_backward(const DropoutShape& shape, ConstSlice d_output, Slice d_input) = 0;
  virtual void shortcut_forward(const ShortcutShape& shape, ConstSlice input, Slice output) = 0;
  virtual void shortcut_backward(const ShortcutShape& shape, ConstSlice d_output, Slice d_input) = 0;
  virtual void add(ConstSlice a, ConstSlice b, Slice sum) = 0;  // adds activations; `sum` may be `a` or `b`
  virtual void copy(ConstSlice from, Slice into) = 0;           // activations or float32
  virtual void fill(Slice values, float value) = 0;             // float32

  // Softmax cross-entropy, summed over the batch; loss() returns it for the pass's ticket. `d_logits` gets the gradient
  // times the pass's loss_factor; it is empty if not wanted. A sample counts as correct if its label's logit is the
  // largest. If several logits are the largest, the first one counts.
  virtual void softmax_cross_entropy(std::int64_t classes, ConstSlice logits, Slice d_logits) = 0;
};

inline std::int64_t pool_winners_size(const PoolShape& shape) {  // floats
  return (shape.samples * shape.output().size() + 3) / 4;
}

// The CPU's Compute, which runs on the calling thread and `threads` − 1 others. Calls prepare_compute_thread.
std::unique_ptr<Compute> make_cpu_compute(int threads);

// Prepares the calling thread for computing: it uses `threads` OpenMP threads, and treats denormal numbers as zero when
// it reads and writes them. With a saturated softmax, denormal numbers make a step several times slower.
// make_cpu_compute calls this. A thread that only uses the flat algebra of Device may call it itself.
void prepare_compute_thread(int threads);

}  // namespace eave
