// The Compute of a GPU. Its operations are in the files that plans.h names.
#include "device/cuda/cuda_device.h"
#include "device/cuda/library_handles.h"
#include "device/cuda/passes/graph_recorder.h"
#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/plans/plans.h"
#include "device/cuda/resident_images.h"
#include "device/kernel_arguments.h"
#include "eave/check.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/flat.h"

namespace eave::cuda {
namespace {

// 1 MiB of float32, as much as the largest gradient bucket has by default. Each exchanged part costs the launch of one
// part of a graph.
constexpr std::int64_t kSmallestPart = std::int64_t{1} << 18;

// T is the type of activations: float or Half.
template <class T>
class CudaCompute final : public Compute {
 public:
  CudaCompute(CudaDevice& device, const CudaSettings& settings)
      : device_(device), libraries_(make_libraries(device.stream())), recorder_(device.stream()), memory_(device) {
    context_.stream = device.stream();
    context_.most_logits = settings.most_logits;
    context_.precision = settings.precision;
    context_.deterministic = settings.deterministic;
    context_.autotune = settings.autotune;
    context_.counts = settings.counts;
    context_.choices = settings.choices;
    if (settings.choices != nullptr) settings.choices->open(describe_tuning_environment(device.index()));
    context_.libraries = libraries_.get();
    context_.pass = &memory_;
    context_.finish_all = [this] { device_.finish_all(); };
  }
  ~CudaCompute() override {
    forget_passes();
    device_.forget_half();
  }

  Device& device() override { return device_; }
  std::int64_t activation_size(std::int64_t values) const override {
    constexpr auto kPerFloat = static_cast<std::int64_t>(sizeof(float) / sizeof(T));
    return (values + kPerFloat - 1) / kPerFloat;
  }
  std::int64_t smallest_part() const override { return kSmallestPart; }

  std::unique_ptr<DeviceImages> load_images(
      std::int64_t count, const ImagePlacing& placing,
      const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read) override {
    return load_resident_images(device_, count, placing, read);
  }

  ConstSlice begin_pass(const PassKind& kind, const PassInputs& inputs) override;
  void cut() override { recorder_.cut(); }
  void forget_passes() noexcept override;
  std::int64_t end_pass() override {
    recorder_.end();
    return memory_.fetch_totals();
  }
  LossSum loss(std::int64_t ticket) override { return memory_.loss(ticket); }

  void add(ConstSlice a, ConstSlice b, Slice sum) override {
    const auto count = static_cast<std::int64_t>(sum.size_bytes() / sizeof(T));
    if (enqueues()) cuda::add(stream(), array<T>(a), array<T>(b), array<T>(sum), count);
  }
  void copy(ConstSlice from, Slice into) override {
    if (enqueues()) device_.copy(into, from.first(into.size()));
  }
  void fill(Slice values, float value) override {
    if (enqueues()) device_.fill(values, value);
  }

 private:
  std::unique_ptr<OperationPlan> make_plan(const OperationShape& any) override {
    const auto make = [&]<class Shape>(const Shape& shape) -> std::unique_ptr<OperationPlan> {
      return make_replayed(recorder_, std::shared_ptr<typename Shape::Plan>(cuda::make_plan(context_, shape)));
    };
    return std::visit(make, any);
  }

  bool enqueues() { return recorder_.enqueues(); }
  cudaStream_t stream() const { return context_.stream; }
  void reserve(const PassKind& kind, const Batch& batch, std::int64_t inputs);
  void write_half_parameters(const PassKind& kind);
  void write_inputs(const Batch& batch);

  CudaDevice& device_;
  std::unique_ptr<Libraries> libraries_;
  Context context_;
  GraphRecorder recorder_;
  PassMemory memory_;
  Buffer inputs_;           // a batch's inputs as activations
  Buffer half_parameters_;  // with kBf16: a copy of the pass's parameters
};

// The caller frees memory next. If the device has failed, the next call to it reports that.
template <class T>
void CudaCompute<T>::forget_passes() noexcept {
  recorder_.abandon();
  try {
    device_.finish_all();
  } catch (const Error&) {
    static_cast<void>(cudaGetLastError());
  }
  recorder_.forget();
}

// If memory moves, all recorded passes are dropped.
template <class T>
void CudaCompute<T>::reserve(const PassKind& kind, const Batch& batch, std::int64_t inputs) {
  bool moved = memory_.reserve(batch.samples, batch.samples * batch.targets, std::ssize(batch.inputs));
  const auto grow = [&](Buffer& buffer, std::int64_t size) {
    if (static_cast<std::size_t>(size) <= buffer.size()) return;
    device_.finish_all();
    device_.forget_half();
    buffer = Buffer();
    buffer = device_.allocate(static_cast<std::size_t>(size));
    moved = true;
  };
  grow(inputs_, activation_size(inputs));
  if (context_.precision == Precision::kBf16) grow(half_parameters_, (kind.parameter_size + 1) / 2);
  if (moved) recorder_.forget();
}

template <class T>
ConstSlice CudaCompute<T>::begin_pass(const PassKind& kind, const PassInputs& inputs) {
  const Batch& batch = inputs.batch;
  const auto* images = static_cast<const ResidentImages*>(batch.images);
  const std::int64_t size = images != nullptr ? batch.samples * images->values() : std::ssize(batch.inputs);
  reserve(kind, batch, size);
  memory_.send(batch, {images != nullptr && images->placing.random ? images->seed : inputs.seed, batch.step,
                       inputs.loss_factor, static_cast<std::int32_t>(batch.samples)});
  if (context_.precision == Precision::kBf16) {
    context_.parameters = kind.parameters;
    context_.half_parameters = half_parameters_.data();
    write_half_parameters(kind);
  }
  recorder_.begin({kind, images});
  if (enqueues()) write_inputs(batch);
  return inputs_.slice().first(static_cast<std::size_t>(activation_size(size)));
}

// Called outside the recording, because it is rarely needed: the optimizer's step has usually written the copy already.
template <class T>
void CudaCompute<T>::write_half_parameters(const PassKind& kind) {
  auto* half = array<Half>(half_parameters_.slice());
  const ConstSlice parameters(kind.parameters, static_cast<std::size_t>(kind.parameter_size));
  device_.keep_half(parameters, half);
  if (device_.half_is_fresh()) return;
  cast(stream(), parameters, half);
  device_.half_was_written();
}

template <class T>
void CudaCompute<T>::write_inputs(const Batch& batch) {
  if (const auto* images = static_cast<const ResidentImages*>(batch.images)) {
    Images placing = images->placing;
    placing.samples = batch.samples;
    write_images(stream(), placing, memory_.block(), memory_.indices(),
                 static_cast<const std::uint8_t*>(images->bytes.get()), images->tables.data(),
                 array<T>(inputs_.slice()));
    return;
  }
  const ConstSlice arrived = memory_.inputs().first(batch.inputs.size());
  if constexpr (std::is_same_v<T, float>) {
    device_.copy(inputs_.slice().first(arrived.size()), arrived);
  } else {
    cast(stream(), arrived, array<Half>(inputs_.slice()));
  }
}

}  // namespace

std::unique_ptr<Compute> make_cuda_compute(CudaDevice& device, const CudaSettings& settings) {
  device.finish_all();
  if (settings.precision == Precision::kBf16) return std::make_unique<CudaCompute<Half>>(device, settings);
  return std::make_unique<CudaCompute<float>>(device, settings);
}

}  // namespace eave::cuda
