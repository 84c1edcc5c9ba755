// Where arithmetic happens, memory there, and algebra on flat vectors in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "eave/slice.h"

namespace eave {

enum class DeviceKind { kCpu, kCuda };

// Owns `size` floats, zeroed. Move-only. It must not outlive the Device that lent its memory.
class Buffer {
 public:
  using Release = void (*)(float*) noexcept;

  Buffer() = default;
  // In the CPU's memory, aligned to 64 bytes; from 4 MiB up huge pages are asked for. Throws
  // Error(kResource) that says how much was asked for.
  explicit Buffer(std::size_t size);
  // Takes over memory that `release` frees; for devices.
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

// A point in a device's queue. Any thread may ask and wait.
class DeviceMark {
 public:
  virtual ~DeviceMark() = default;
  virtual bool reached() = 0;
  virtual void wait() = 0;  // blocks; throws Error where the device has failed
};

// A yes or no that a device will give.
class DeviceAnswer {
 public:
  virtual ~DeviceAnswer() = default;
  virtual bool get() = 0;  // blocks until it is known; for the device's thread
};

// What moves values between ranks has of a device: copies, to and from the host's memory, and sums, in a queue of their
// own beside what the device computes. For one thread, which may be another than the device's. Host memory is best that
// of Device::allocate_for_host.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;
  virtual void read(ConstSlice from, Slice host) = 0;   // enqueued; as long as each other
  virtual void write(Slice into, ConstSlice host) = 0;  // enqueued
  virtual void add(Slice into, ConstSlice from) = 0;    // into += from, both in the device's memory; enqueued
  virtual void wait() = 0;                              // blocks until all is done
};

// One device, as one rank uses it: memory, and algebra on vectors there. What is called takes place in the order of the
// calls, in the device's one queue, maybe later than the call returns; the CPU does it at once. What returns a number,
// and read, block until it is there. One thread calls a Device, but for holds, its marks and its copy queues.
//
// Vectors of one call are equally long, lie in this device's memory and do not overlap unless said so. Each element is
// computed by the same IEEE operations on every device (no fused multiply-add), so equal inputs give equal bits. Bytes
// moved per parameter stand beside each function.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;  // "cpu"; "cuda:0 NVIDIA H200"

  // Throws Error(kResource) that says how much was asked for, and how much there is.
  virtual Buffer allocate(std::size_t size) = 0;
  virtual Buffer allocate_for_host(std::size_t size) = 0;  // host memory that copies fast (pinned)
  virtual bool holds(ConstSlice values) const = 0;         // in its memory; any thread; an empty slice is nowhere
  virtual std::int64_t free_bytes() { return -1; }         // of its memory; −1: not known

  virtual void read(ConstSlice from, Slice host) = 0;
  virtual void write(Slice into, ConstSlice host) = 0;  // `host` may change once it returns
  virtual void wait() = 0;                              // until all that was called has taken place
  virtual std::shared_ptr<DeviceMark> mark() = 0;       // after all that was called so far
  virtual std::unique_ptr<CopyQueue> make_copy_queue() = 0;

  virtual void copy(Slice into, ConstSlice from) = 0;
  virtual void fill(Slice values, float value) = 0;
  virtual void scale(Slice values, float factor) = 0;
  virtual void add_scaled(Slice into, float factor, ConstSlice from) = 0;  // into += factor · from
  // Sums in double, always in the same order.
  virtual double norm(ConstSlice values) = 0;                               // Euclidean
  virtual double distance(ConstSlice a, ConstSlice b) = 0;                  // norm of a − b
  virtual std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) = 0;  // does not block

  // No pass from here on writes a parameter, an optimizer's value, a center or an average that is not finite: where the
  // new value would not be, the element keeps what it had, and what is sent of it is 0 or its old value. So what is no
  // number ends where it arose, and the same values on several ranks stay the same. It costs no bytes.

  // The optimizers' steps, each with the pull in the same pass: 8 bytes more, with the center's arrival another 8.
  // `pull` may be null. `velocity` is empty when momentum is 0: 12 bytes, with velocity 20. They return whether every
  // element took its step; without one it keeps all its values, and its difference is 0. They do not block.
  virtual std::shared_ptr<DeviceAnswer> update_sgd(Slice parameters, ConstSlice gradients, Slice velocity,
                                                   const SgdStep& step, const Pull* pull) = 0;
  // 28 bytes.
  virtual std::shared_ptr<DeviceAnswer> update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second,
                                                     const AdamwStep& step, const Pull* pull) = 0;

  // Where parameters are `ahead` of the iterate, x stands for the iterate in what follows, and the parameters move by
  // as much as it does.

  // The pull without a step. 16 bytes, with the center's arrival 24.
  virtual void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead = {}) = 0;
  // difference = factor·(x − center). 12 bytes.
  virtual void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                                const Ahead& ahead = {}) = 0;
  // center ← center + sum. 12 bytes. One addition and nothing else, so that every rank gets the same bits.
  virtual void move_center(Slice center, ConstSlice sum) = 0;
  // center ← center + sum;  x ← center + (1 − alpha)·(x − center): with alpha = 1, x becomes the center exactly. 20
  // bytes.
  virtual void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha,
                                      const Ahead& ahead = {}) = 0;
  // The outer step of methods that treat the workers' way as one gradient. 24 bytes.
  virtual void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) = 0;

  // average ← (1 − share)·average + share·values, the average being average + rest: what float32 drops of a small share
  // is kept in `rest`, or an average of a million values would stand still. A share of 1 copies. 20 bytes. Where values
  // are `ahead` of the iterate, the iterate is averaged. 24 bytes.
  virtual void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead = {}) = 0;
  // into = the iterate. 8 bytes.
  virtual void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) = 0;
  // message b becomes x − b. 12 bytes.
  virtual void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) = 0;
  // Parameters `ahead` of the given iterate. 8 bytes.
  virtual void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) = 0;
  // into = −rate·(gradient + decay·x). 12 bytes.
  virtual void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) = 0;
  // x ← x − difference. 12 bytes.
  virtual void subtract(Slice parameters, ConstSlice difference) = 0;
};

// The CPU's memory. Holds nothing of its own: any number of ranks and threads use it at once.
Device& cpu_device();
// A GPU, by its number among those that this process sees; it becomes the calling thread's. Before values in its memory
// are exchanged it is attached to the transport (Attachment). Throws Error: kResource where there is none, or where
// this eave was built without GPUs; kUsage where there are not so many.
std::unique_ptr<Device> gpu_device(std::int64_t number);

}  // namespace eave
