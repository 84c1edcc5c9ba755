// One GPU as a Device: memory, and algebra by the kernels of kernels/cuda, in one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "device/device_collectives.h"
#include "eave/device.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

class CudaDevice final : public Device, public CollectiveDevice {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;

  int index() const { return index_; }
  cudaStream_t stream() const { return stream_.get(); }  // the queue

  // Blocks until the queue and the streams beside it are empty. Call it before memory is allocated or freed: the driver
  // may hold its lock until all kernels have ended, and a kernel of NCCL's does not end while NCCL's thread needs that
  // lock. `allocate` and `allocate_for_host` call it; a Buffer's owner does before it drops one during training.
  void finish_all();
  // Streams whose kernels may wait for other ranks. Like finish_all, for the device's thread.
  void add_stream(cudaStream_t stream) { streams_beside_.push_back(stream); }
  void remove_stream(cudaStream_t stream) noexcept { std::erase(streams_beside_, stream); }

  // From now on the optimizers' steps write these parameters as bfloat16 too, in the same pass. Until forget_half.
  void keep_half(ConstSlice parameters, Half* half);
  void forget_half();
  // Whether the copy is that of the parameters as they are: nothing was called since that may have changed them.
  bool half_is_fresh() const { return half_is_fresh_; }
  void half_was_written() { half_is_fresh_ = true; }

  std::string bus_id() const override;
  std::string collective_library() const override;
  std::unique_ptr<DeviceCollectives> make_collectives() override;

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override { return name_; }
  Buffer allocate(std::size_t size) override;
  Buffer allocate_for_host(std::size_t size) override;
  bool holds(ConstSlice values) const override;
  std::int64_t free_bytes() override;

  void read(ConstSlice from, Slice host) override;
  void write(Slice into, ConstSlice host) override;
  void wait() override;
  std::shared_ptr<DeviceMark> mark() override;
  std::unique_ptr<CopyQueue> make_copy_queue() override;

  void copy(Slice into, ConstSlice from) override;
  void fill(Slice values, float value) override;
  void scale(Slice values, float factor) override;
  void add_scaled(Slice into, float factor, ConstSlice from) override;
  double norm(ConstSlice values) override;
  double distance(ConstSlice a, ConstSlice b) override;
  std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) override;

  std::shared_ptr<DeviceAnswer> update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                                           const Pull* pull) override;
  std::shared_ptr<DeviceAnswer> update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second,
                                             const AdamwStep& step, const Pull* pull) override;
  void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead) override;
  void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                        const Ahead& ahead) override;
  void move_center(Slice center, ConstSlice sum) override;
  void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead) override;
  void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) override;
  void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) override;
  void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) override;
  void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) override;
  void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) override;
  void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) override;
  void subtract(Slice parameters, ConstSlice difference) override;

 private:
  class Mark;
  class Number;

  void start(const cudaDeviceProp& properties);
  void try_out(const cudaDeviceProp& properties);
  std::string others_memory() const;      // "; other processes held …" if they held much
  Half* half_of(Slice parameters);        // that is about to be written with them; nullptr: there is none
  void change(ConstSlice written);        // before any other call that writes
  std::shared_ptr<Number> free_number();  // one that nobody waits for
  template <class Update>
  std::shared_ptr<DeviceAnswer> ask_whether_all_moved(Update update);

  int index_;
  std::string name_;
  std::size_t total_bytes_ = 0, taken_bytes_ = 0;  // when this process began
  Stream stream_;
  std::vector<cudaStream_t> streams_beside_;
  Event done_;
  DeviceBytes scratch_;    // of sums
  ConstSlice parameters_;  // that half_ is of
  Half* half_ = nullptr;
  bool half_is_fresh_ = false;
  std::vector<std::shared_ptr<Mark>> marks_;
  std::vector<std::shared_ptr<Number>> numbers_;
};

// kResource: no driver, too old a driver, no GPU.
int count_devices();

// "300 MiB"
std::string mebi_text(std::size_t bytes);

}  // namespace eave::cuda
