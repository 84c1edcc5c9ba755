// A device, its memory, and algebra on flat vectors in that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "eave/slice.h"
#include "eave/update_steps.h"

namespace eave {

enum class DeviceKind { kCpu, kCuda };

struct FlatPass;  // kernels/flat/flat_pass.h

// The shape of a product of two row-major matrices: rows × inner by inner × columns.
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, inner = 0;
  bool a_is_transposed = false;  // the first one is stored as inner × rows
  bool b_is_transposed = false;  // the second one is stored as columns × inner

  bool fits(ConstSlice a, ConstSlice b, ConstSlice into) const {  // whether these vectors have its sizes
    const auto is = [](ConstSlice matrix, std::int64_t size) {
      return static_cast<std::int64_t>(matrix.size()) == size;
    };
    return is(a, rows * inner) && is(b, inner * columns) && is(into, rows * columns);
  }
};

// The shape of a copy between parts of row-major matrices: rows × columns values. Rows of the whole matrices have
// `into_row` and `from_row` values.
struct RowsCopy {
  std::int64_t rows = 0, columns = 0;
  std::int64_t into_row = 0, from_row = 0;

  bool fits(ConstSlice into, ConstSlice from) const {  // whether these vectors reach to the end of the last row
    const auto is = [&](ConstSlice matrix, std::int64_t row) {
      return columns <= row && (rows - 1) * row + columns <= static_cast<std::int64_t>(matrix.size());
    };
    return is(into, into_row) && is(from, from_row);
  }
};

// Owns `size` floats, zeroed. Move-only. It must not outlive the Device that lent its memory.
class Buffer {
 public:
  using Release = void (*)(float*) noexcept;

  Buffer() = default;
  // Allocates CPU memory, aligned to 64 bytes. From 4 MiB on it requests huge pages. Throws Error(kResource), which
  // names the size, if there is not enough memory.
  explicit Buffer(std::size_t size);
  // For devices: takes ownership of memory that `release` frees.
  Buffer(float* data, std::size_t size, Release release) noexcept : data_(data), size_(size), release_(release) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::size_t size() const { return size_; }
  Slice slice() { return {data_, size_}; }
  ConstSlice slice() const { return {data_, size_}; }
  float* data() { return data_; }
  const float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
  Release release_ = nullptr;
};

// A point in a device's queue. Any thread may call its methods.
class DeviceMark {
 public:
  virtual ~DeviceMark() = default;
  virtual bool reached() = 0;
  virtual void wait() = 0;  // blocks; throws Error if the device has failed
};

// A boolean result that the device may still be computing.
class DeviceAnswer {
 public:
  virtual ~DeviceAnswer() = default;
  virtual bool get() = 0;  // blocks until the result is known; call it from the device's thread
};

// The part of a device that a transport needs: copies to and from host memory, and sums, in a queue separate from
// compute. One thread uses a CopyQueue; it need not be the device's thread. Copies are fastest with host memory from
// Device::allocate_for_host.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;
  virtual void read(ConstSlice from, Slice host) = 0;   // enqueues host ← from; both are equally long
  virtual void write(Slice into, ConstSlice host) = 0;  // enqueues into ← host; both are equally long
  virtual void add(Slice into, ConstSlice from) = 0;    // enqueues into += from, both in the device's memory
  virtual void wait() = 0;                              // blocks until everything enqueued is done
};

// One device, as one rank uses it: memory, and algebra on vectors in that memory. The device has one queue and carries
// out calls in their order. The CPU carries out each call before it returns; a GPU may do so later. read(), and every
// method that returns a number, block until the result is there. Only one thread calls a Device, except for holds(),
// marks and copy queues.
//
// All vectors of a call are equally long, lie in this device's memory and do not overlap unless the comment says so.
// Every device computes each element by the same IEEE operations (no fused multiply-add), so equal inputs give equal
// bits. The comment of each pass gives its cost as the bytes that it moves per parameter.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;  // "cpu"; "cuda:0 NVIDIA H200"

  // Throws Error(kResource), which names the requested and the free size, if there is not enough memory.
  virtual Buffer allocate(std::size_t size) = 0;
  virtual Buffer allocate_for_host(std::size_t size) = 0;  // host memory that copies fast (pinned)
  virtual bool holds(ConstSlice values) const = 0;  // whether its memory holds them (false if empty); for any thread
  virtual std::int64_t free_bytes() { return -1; }  // free bytes of its memory; −1 if not known

  virtual void read(ConstSlice from, Slice host) = 0;
  virtual void write(Slice into, ConstSlice host) = 0;  // `host` may change once it returns
  virtual void wait() = 0;                              // blocks until all calls so far have been carried out
  virtual std::shared_ptr<DeviceMark> mark() = 0;       // reached once all calls so far have been carried out
  virtual std::unique_ptr<CopyQueue> make_copy_queue() = 0;

  virtual void copy(Slice into, ConstSlice from) = 0;
  // Each vector begins at the first value of its part, and may be longer than the part. It does not block.
  virtual void copy_rows(const RowsCopy& shape, Slice into, ConstSlice from) = 0;
  virtual void fill(Slice values, float value) = 0;
  virtual void scale(Slice values, float factor) = 0;
  virtual void add_scaled(Slice into, float factor, ConstSlice from) = 0;  // into += factor · from
  // norm and distance add up in double, always in the same order.
  virtual double norm(ConstSlice values) = 0;                               // Euclidean
  virtual double distance(ConstSlice a, ConstSlice b) = 0;                  // norm of a − b
  virtual std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) = 0;  // does not block

  // into = a · b, in float32. It does not block. Each vector begins at an address that is a multiple of 16 bytes. The
  // CPU adds up in the order of `inner`, without fused multiply-add, so every CPU gives the same bits. GPUs give the
  // same bits as long as kind and library are the same.
  virtual void multiply(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into) = 0;

  // Carries out one word of kernels/flat: an expression that moves along vectors. Returns whether every element took
  // its step if the word is an optimizer's; otherwise the answer may be nullptr. It does not block. The methods below
  // each run one word.
  virtual std::shared_ptr<DeviceAnswer> run(const FlatPass& pass) = 0;

  // The passes below never write a non-finite value into parameters, optimizer state, a center or an average. If an
  // element's new value would be infinite or NaN, the element keeps its old value, and 0 or the old value is sent for
  // it. So a non-finite value does not spread, and values that are equal on several ranks stay equal. This check moves
  // no extra bytes.

  // The optimizers' steps. If `pull` is not null, the same pass applies it: 8 bytes more, and another 8 if its
  // center_is_behind. They return whether every element took its step. An element that did not keeps all its values,
  // and its difference is 0. They do not block.

  // `decay_shares`, in the device's memory, has one factor on the weight decay for each kDecayBlock parameters; empty:
  // 1 everywhere.
  // `velocity` is empty if momentum is 0. 12 bytes, with velocity 20.
  std::shared_ptr<DeviceAnswer> update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                                           const Pull* pull, ConstSlice decay_shares = {});
  // 28 bytes.
  std::shared_ptr<DeviceAnswer> update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second,
                                             const AdamwStep& step, const Pull* pull, ConstSlice decay_shares = {});

  // In the passes below, x is the iterate. If the parameters are `ahead` of it, they move by as much as the iterate.

  // The pull without an optimizer step. 16 bytes, with center_is_behind 24.
  void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead = {});
  // difference = factor·(x − center). 12 bytes.
  void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                        const Ahead& ahead = {});
  // center ← center + sum. 12 bytes. A single addition, so that every rank gets the same bits.
  void move_center(Slice center, ConstSlice sum);
  // center ← center + sum;  x ← center + (1 − alpha)·(x − center). With alpha = 1, x becomes the center exactly.
  // 20 bytes.
  void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead = {});
  // The step of an outer optimizer, which takes the workers' movement between two exchanges as its gradient; see
  // OuterKernelStep. 24 bytes.
  void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

  // average ← (1 − share)·average + share·values. The average is stored as average + rest: `rest` keeps the part of a
  // small share that float32 would drop, because otherwise an average of a million values would stop moving. A share of
  // 1 copies. 20 bytes. If the values are `ahead` of the iterate, the iterate is averaged. 24 bytes.
  void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead = {});
  // into = the iterate of `parameters`. 8 bytes.
  void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead);
  // message ← x − message. 12 bytes.
  void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead);
  // Sets the parameters to the point that is `ahead` of the given iterate. 8 bytes.
  void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead);
  // into = −rate·(gradient + decay·x). 12 bytes.
  void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay);
  // x ← x − difference. 12 bytes.
  void subtract(Slice parameters, ConstSlice difference);
};

// The CPU. It has no state, so any number of ranks and threads may use it at once.
Device& cpu_device();
// The GPU with this number, counted from 0 among those that this process sees. It belongs to the calling thread. Attach
// it to the transport (Attachment) before values in its memory are exchanged. Throws Error: kResource if the GPU
// cannot be used or this eave was built without GPUs, kUsage if no GPU has this number.
std::unique_ptr<Device> gpu_device(std::int64_t number);

}  // namespace eave
