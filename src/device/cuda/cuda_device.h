// One GPU as a Device: its memory, and passes over flat arrays by kernels/cuda, all in one stream; and the Compute that
// uses the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "device/cuda_module.h"
#include "device/device_collectives.h"
#include "eave/device.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

class MatrixProducts;

class CudaDevice final : public Device, public CollectiveDevice {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;

  int index() const { return index_; }
  cudaStream_t stream() const { return stream_.get(); }  // the device's queue

  // Blocks until the queue and all added streams are empty. Call it before device memory is allocated or freed. The
  // driver may hold its lock until all kernels have ended, but an NCCL kernel does not end while NCCL's thread waits
  // for that lock. `allocate` and `allocate_for_host` call it. The owner of a Buffer must call it before freeing the
  // Buffer during training.
  void finish_all();
  // Adds and removes streams whose kernels may wait for other ranks. Only the device's thread may call these and
  // finish_all.
  void add_stream(cudaStream_t stream) { streams_beside_.push_back(stream); }
  void remove_stream(cudaStream_t stream) noexcept { std::erase(streams_beside_, stream); }

  // From now on, until forget_half, the optimizers' steps also write these parameters as bfloat16, in the same pass.
  // `half` has as many elements as `parameters`.
  void keep_half(ConstSlice parameters, Half* half);
  void forget_half();
  // Whether the bfloat16 copy equals the current parameters: no call since it was written may have changed them.
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
  void copy_rows(const RowsCopy& shape, Slice into, ConstSlice from) override;
  void fill(Slice values, float value) override;
  void scale(Slice values, float factor) override;
  void add_scaled(Slice into, float factor, ConstSlice from) override;
  double norm(ConstSlice values) override;
  double distance(ConstSlice a, ConstSlice b) override;
  std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) override;
  void multiply(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into) override;
  std::shared_ptr<DeviceAnswer> run(const FlatPass& pass) override;

 private:
  class Mark;
  class Number;

  void start(const cudaDeviceProp& properties);
  void try_out(const cudaDeviceProp& properties);
  std::string others_memory() const;  // "; other processes held …" if they held much of the memory, else ""
  // Notes what a pass writes. Returns the bfloat16 copy that it has to write too, or nullptr if there is none.
  Half* begin_writing(const FlatPass& pass);
  Half* half_of(ConstSlice parameters);
  void change(ConstSlice written);  // called before every other call that writes: the bfloat16 copy may become stale
  std::shared_ptr<Number> free_number();  // a Number that nobody waits for

  int index_;
  std::string name_;
  std::size_t total_bytes_ = 0, taken_bytes_ = 0;  // taken: by all processes, when this one began
  Stream stream_;
  std::vector<cudaStream_t> streams_beside_;
  Event done_;
  DeviceBytes scratch_;    // for the partial sums of kernels
  ConstSlice parameters_;  // the parameters that half_ is a copy of
  Half* half_ = nullptr;
  bool half_is_fresh_ = false;
  std::vector<std::shared_ptr<Mark>> marks_;
  std::vector<std::shared_ptr<Number>> numbers_;
  std::unique_ptr<MatrixProducts> products_;  // made for the first product
};

// The number of GPUs. Throws Error(kResource) if there is no driver, too old a driver or no GPU.
int count_devices();

// Compute on a GPU. Convolutions and dense layers use cuDNN and cuBLASLt (plans.h), everything else uses kernels/cuda.
// Passes are replayed as CUDA graphs.
std::unique_ptr<Compute> make_cuda_compute(CudaDevice& device, const CudaSettings& settings);

// Formats a number of bytes, such as "300 MiB".
std::string mebi_text(std::size_t bytes);

}  // namespace eave::cuda
