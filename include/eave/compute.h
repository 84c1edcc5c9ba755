// The arithmetic of one device, as layers see it. Each layer is written once against this interface; only Compute
// differs between devices. Its operations are plans (src/device/operations.h), made once per shape.
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

class OperationPlan;    // src/device/operations.h
struct OperationShape;  // src/device/operations.h

// Combines the moments that batch norm measures on the batches of all ranks. Collective: every rank, also one without
// rows, calls the same methods in the same order with as many values. Each call blocks. Values lie in host memory.
class MomentExchange {
 public:
  virtual ~MomentExchange() = default;
  virtual ConstSlice gather(ConstSlice mine) = 0;  // every rank's values, in rank order; valid until the next call
  virtual void sum(Slice values) = 0;              // in place; sums over ranks, with the same bits on all
};

struct LossSum {
  double loss_sum = 0;
  std::int64_t correct = 0;
};

// The inputs of a pass that differ between passes of the same kind.
struct PassInputs {
  const Batch& batch;      // has at least one sample; outlives the pass
  std::uint64_t seed = 0;  // for dropout
  float loss_factor = 0;   // factor on the gradient of the loss
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

inline constexpr std::int64_t kKeptLosses = 4;  // number of last passes whose loss can be asked for

// Only the thread that made a Compute uses it and its plans. Calls are carried out in the order of the queue of
// device().
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

  // Plans an operation (src/device/operations.h), only outside a pass. The plan belongs to this Compute and must not
  // outlive it.
  template <class Shape>
  std::unique_ptr<typename Shape::Plan> plan(const Shape& shape) {
    return std::unique_ptr<typename Shape::Plan>(static_cast<typename Shape::Plan*>(make_plan(shape).release()));
  }

  // Begins a pass. Plans, and add(), copy() and fill(), may be called only between begin_pass and end_pass. Returns the
  // batch's inputs as activations in the device's memory.
  virtual ConstSlice begin_pass(const PassKind& kind, const PassInputs& inputs) = 0;
  // Called in a pass: sends all calls so far to the device's queue. Work that is given to the Device from now on comes
  // after them.
  virtual void cut() = 0;
  // Call it before freeing memory or plans that passes have used, also after the device has failed in a pass. Drops all
  // recorded passes.
  virtual void forget_passes() noexcept = 0;
  // Ends the pass and returns the ticket for its loss.
  virtual std::int64_t end_pass() = 0;
  // The result of the loss's plan in the pass with this ticket, one of the last kKeptLosses passes. Blocks until it is
  // known.
  virtual LossSum loss(std::int64_t ticket) = 0;
  // Called in a pass, after the loss's plan. True if the loss is known not to be finite. False if it is finite, or if
  // the caller would have to wait for it.
  virtual bool loss_is_not_finite() const { return false; }

  virtual void add(ConstSlice a, ConstSlice b, Slice sum) = 0;  // adds activations; `sum` may be `a` or `b`
  virtual void copy(ConstSlice from, Slice into) = 0;           // activations or float32
  virtual void fill(Slice values, float value) = 0;             // float32

 private:
  // Returns a plan of the kind that the shape names as its Plan.
  virtual std::unique_ptr<OperationPlan> make_plan(const OperationShape& shape) = 0;
};

// The CPU's Compute, which runs on the calling thread and `threads` − 1 others. Calls prepare_compute_thread.
std::unique_ptr<Compute> make_cpu_compute(int threads);

// Prepares the calling thread for computing: it uses `threads` OpenMP threads, and treats denormal numbers as zero when
// it reads and writes them. With a saturated softmax, denormal numbers make a step several times slower.
// make_cpu_compute calls this. A thread that only uses the flat algebra of Device may call it itself.
void prepare_compute_thread(int threads);

}  // namespace eave
