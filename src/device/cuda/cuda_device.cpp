#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <string>

#include "device/cuda/plans/matrix_products.h"
#include "eave/check.h"
#include "kernels/cuda/flat.h"

namespace eave::cuda {
namespace {

constexpr std::size_t kNumbers = 8;

std::size_t bytes_of(ConstSlice values) { return values.size() * sizeof(float); }

void require_equal(ConstSlice a, ConstSlice b) {
  EAVE_CHECK(a.size() == b.size(), std::to_string(a.size()) + " and " + std::to_string(b.size()) + " numbers");
}

class CudaCopies final : public CopyQueue {
 public:
  explicit CudaCopies(int index) : index_(index), stream_(make_stream()) {}

  void read(ConstSlice from, Slice host) override { copy(host, from, cudaMemcpyDeviceToHost); }
  void write(Slice into, ConstSlice host) override { copy(into, host, cudaMemcpyHostToDevice); }
  void add(Slice into, ConstSlice from) override {
    require_equal(into, from);
    EAVE_CUDA(cudaSetDevice(index_));
    add_scaled(stream_.get(), into, 1, from);
  }
  void wait() override {
    EAVE_CUDA(cudaSetDevice(index_));
    EAVE_CUDA(cudaEventRecord(done_.get(), stream_.get()));
    await(done_.get());
  }

 private:
  void copy(Slice into, ConstSlice from, cudaMemcpyKind kind) {
    require_equal(into, from);
    if (into.empty()) return;
    EAVE_CUDA(cudaSetDevice(index_));  // the calling thread may not be the device's
    EAVE_CUDA(cudaMemcpyAsync(into.data(), from.data(), bytes_of(from), kind, stream_.get()));
  }

  int index_;
  Stream stream_;
  Event done_ = make_event();
};

}  // namespace

class CudaDevice::Mark final : public DeviceMark {
 public:
  explicit Mark(int index) : index_(index), event_(make_event()) {}

  void record(cudaStream_t stream) { EAVE_CUDA(cudaEventRecord(event_.get(), stream)); }
  bool reached() override {
    EAVE_CUDA(cudaSetDevice(index_));
    return is_reached(event_.get());
  }
  void wait() override {
    EAVE_CUDA(cudaSetDevice(index_));
    await(event_.get());
  }

 private:
  int index_;
  Event event_;
};

// A double that a kernel writes and that is copied to the host. As an answer it counts elements that are not finite or
// kept their values.
class CudaDevice::Number final : public DeviceAnswer {
 public:
  Number() : on_device_(device_bytes(sizeof(double))), on_host_(host_bytes(sizeof(double))), arrived_(make_event()) {}

  double* on_device() { return static_cast<double*>(on_device_.get()); }
  void clear(cudaStream_t stream) { EAVE_CUDA(cudaMemsetAsync(on_device_.get(), 0, sizeof(double), stream)); }
  void send(cudaStream_t stream) {
    EAVE_CUDA(cudaMemcpyAsync(on_host_.get(), on_device_.get(), sizeof(double), cudaMemcpyDeviceToHost, stream));
    EAVE_CUDA(cudaEventRecord(arrived_.get(), stream));
  }
  double value() {
    await(arrived_.get());
    return *static_cast<double*>(on_host_.get());
  }
  bool get() override { return value() == 0; }  // true if no element was counted

 private:
  DeviceBytes on_device_;
  HostBytes on_host_;
  Event arrived_;
};

CudaDevice::CudaDevice(int index) : index_(index) {
  const int count = count_devices();
  if (index < 0 || index >= count) {
    throw Error(ExitCode::kResource,
                "there is no GPU " + std::to_string(index) + ": this machine shows " +
                    (count == 1 ? "one, GPU 0" : std::to_string(count) + ", GPU 0 to " + std::to_string(count - 1)));
  }
  cudaDeviceProp properties{};
  EAVE_CUDA(cudaGetDeviceProperties(&properties, index));
  name_ = "cuda:" + std::to_string(index) + " " + properties.name;
  start(properties);
  stream_ = make_stream();
  done_ = make_event();
  scratch_ = device_bytes(kSumScratch * sizeof(double));
  // As many as training uses at once: to allocate another one, finish_all has to wait.
  while (numbers_.size() < kNumbers) numbers_.push_back(std::make_shared<Number>());
  try_out(properties);
}

// The queue still uses the memory that is freed now.
CudaDevice::~CudaDevice() { static_cast<void>(cudaStreamSynchronize(stream_.get())); }

void CudaDevice::finish_all() {
  EAVE_CUDA(cudaStreamSynchronize(stream()));
  for (const cudaStream_t each : streams_beside_) EAVE_CUDA(cudaStreamSynchronize(each));
}

Buffer CudaDevice::allocate(std::size_t size) {
  if (size == 0) return {};
  finish_all();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, size * sizeof(float));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ExitCode::kResource, "out of memory on " + name_ + ": " + mebi_text(size * sizeof(float)) +
                                         " are needed, " + mebi_text(static_cast<std::size_t>(free_bytes())) +
                                         " are free; use a smaller batch or model" + others_memory());
  }
  check_cuda(status, "cudaMalloc");
  Buffer buffer(static_cast<float*>(memory), size, [](float* data) noexcept { static_cast<void>(cudaFree(data)); });
  change(buffer.slice());
  EAVE_CUDA(cudaMemsetAsync(memory, 0, size * sizeof(float), stream()));
  return buffer;
}

Buffer CudaDevice::allocate_for_host(std::size_t size) {
  if (size == 0) return {};
  finish_all();
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, size * sizeof(float));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ExitCode::kResource,
                "cannot get " + mebi_text(size * sizeof(float)) + " of pinned memory; use fewer ranks on this machine");
  }
  check_cuda(status, "cudaMallocHost");
  std::fill_n(static_cast<float*>(memory), size, 0.0f);
  return {static_cast<float*>(memory), size, [](float* data) noexcept { static_cast<void>(cudaFreeHost(data)); }};
}

bool CudaDevice::holds(ConstSlice values) const {
  if (values.empty()) return false;
  // The calling thread may not be the device's, and the question must not start up another GPU.
  EAVE_CUDA(cudaSetDevice(index_));
  cudaPointerAttributes attributes{};
  EAVE_CUDA(cudaPointerGetAttributes(&attributes, values.data()));
  return attributes.type == cudaMemoryTypeDevice && attributes.device == index_;
}

std::int64_t CudaDevice::free_bytes() {
  std::size_t free = 0, total = 0;
  EAVE_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

void CudaDevice::read(ConstSlice from, Slice host) {
  require_equal(from, host);
  if (!from.empty()) {
    EAVE_CUDA(cudaMemcpyAsync(host.data(), from.data(), bytes_of(from), cudaMemcpyDeviceToHost, stream()));
  }
  wait();
}

void CudaDevice::write(Slice into, ConstSlice host) {
  require_equal(into, host);
  if (into.empty()) return;
  change(into);
  EAVE_CUDA(cudaMemcpyAsync(into.data(), host.data(), bytes_of(host), cudaMemcpyHostToDevice, stream()));
  wait();
}

void CudaDevice::wait() {
  EAVE_CUDA(cudaEventRecord(done_.get(), stream()));
  await(done_.get());
}

// A thread that waits for the mark may then write parameters, which makes the bfloat16 copy stale.
std::shared_ptr<DeviceMark> CudaDevice::mark() {
  half_is_fresh_ = false;
  const auto is_free = [](const std::shared_ptr<Mark>& mark) { return mark.use_count() == 1; };
  auto found = std::ranges::find_if(marks_, is_free);
  if (found == marks_.end()) found = marks_.insert(found, std::make_shared<Mark>(index_));
  (*found)->record(stream());
  return *found;
}

std::unique_ptr<CopyQueue> CudaDevice::make_copy_queue() { return std::make_unique<CudaCopies>(index_); }

std::shared_ptr<CudaDevice::Number> CudaDevice::free_number() {
  const auto is_free = [](const std::shared_ptr<Number>& number) { return number.use_count() == 1; };
  auto found = std::ranges::find_if(numbers_, is_free);
  if (found != numbers_.end()) return *found;
  finish_all();
  return numbers_.emplace_back(std::make_shared<Number>());
}

double CudaDevice::norm(ConstSlice values) {
  const std::shared_ptr<Number> number = free_number();
  cuda::norm(stream(), values, static_cast<double*>(scratch_.get()), number->on_device());
  number->send(stream());
  return number->value();
}

double CudaDevice::distance(ConstSlice a, ConstSlice b) {
  require_equal(a, b);
  const std::shared_ptr<Number> number = free_number();
  cuda::distance(stream(), a, b, static_cast<double*>(scratch_.get()), number->on_device());
  number->send(stream());
  return number->value();
}

std::shared_ptr<DeviceAnswer> CudaDevice::all_finite(ConstSlice values) {
  const std::shared_ptr<Number> number = free_number();
  count_not_finite(stream(), values, static_cast<double*>(scratch_.get()), number->on_device());
  number->send(stream());
  return number;
}

std::shared_ptr<DeviceAnswer> CudaDevice::run(const FlatPass& pass) {
  Half* const half = begin_writing(pass);
  const bool answers = std::visit([]<class Word>(const Word&) { return passes::Answers<Word>; }, pass.word);
  if (!answers) {
    cuda::run(stream(), pass, half);
    return nullptr;
  }
  const std::shared_ptr<Number> number = free_number();
  number->clear(stream());
  cuda::run(stream(), pass, half, number->on_device());
  number->send(stream());
  return number;
}

void CudaDevice::copy(Slice into, ConstSlice from) {
  require_equal(into, from);
  if (into.empty()) return;
  change(into);
  EAVE_CUDA(cudaMemcpyAsync(into.data(), from.data(), bytes_of(from), cudaMemcpyDeviceToDevice, stream()));
}

void CudaDevice::copy_rows(const RowsCopy& shape, Slice into, ConstSlice from) {
  EAVE_CHECK(shape.fits(into, from), "matrices of the wrong sizes");
  change(into);
  const auto bytes = [](std::int64_t values) { return static_cast<std::size_t>(values) * sizeof(float); };
  EAVE_CUDA(cudaMemcpy2DAsync(into.data(), bytes(shape.into_row), from.data(), bytes(shape.from_row),
                              bytes(shape.columns), static_cast<std::size_t>(shape.rows), cudaMemcpyDeviceToDevice,
                              stream()));
}

}  // namespace eave::cuda
