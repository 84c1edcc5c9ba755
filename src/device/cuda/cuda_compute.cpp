// The arithmetic of layers on a GPU.
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/library_handles.h"
#include "device/cuda/passes/graph_recorder.h"
#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/plans/plans.h"
#include "device/cuda/resident_images.h"
#include "device/geometry.h"
#include "eave/check.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/flat.h"
#include "kernels/cuda/layers.h"

namespace eave::cuda {
namespace {

// 1 MiB, the default size of the largest gradient bucket. Each exchanged part costs the launch of one part of a graph.
constexpr std::int64_t kSmallestPart = std::int64_t{1} << 18;

// T is the type of activations: float or Half.
template <class T>
class CudaCompute final : public Compute {
 public:
  CudaCompute(CudaDevice& device, const CudaSettings& settings)
      : device_(device), libraries_(make_libraries(device.stream())), recorder_(device.stream()), memory_(device) {
    context_.stream = device.stream();
    context_.precision = settings.precision;
    context_.deterministic = settings.deterministic;
    context_.autotune = settings.autotune;
    context_.counts = settings.counts;
    context_.choices = settings.choices;
    if (settings.choices != nullptr) settings.choices->open(describe_tuning_environment(device.index()));
    context_.libraries = libraries_.get();
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

  std::unique_ptr<LinearPlan> plan_dense(const DenseShape& shape) override {
    return std::make_unique<ReplayedPlan>(recorder_, make_dense(context_, shape));
  }
  std::unique_ptr<LinearPlan> plan_convolution(const ConvolutionShape& shape) override {
    return std::make_unique<ReplayedPlan>(recorder_, make_convolution(context_, shape));
  }

  ConstSlice begin_pass(const PassKind& kind, const PassInputs& inputs) override;
  void cut() override { recorder_.cut(); }
  void forget_passes() noexcept override;
  std::int64_t end_pass() override {
    recorder_.end();
    return memory_.fetch_totals();
  }
  LossSum loss(std::int64_t ticket) override { return memory_.loss(ticket); }

  void batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) override;
  void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) override;
  void batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) override;

  void max_pool_forward(const PoolShape& shape, ConstSlice input, Slice output, Slice winners) override {
    if (!enqueues()) return;
    cuda::max_pool_forward(stream(), geometry(shape), values(input), values(output), bytes(winners));
  }
  void max_pool_backward(const PoolShape& shape, ConstSlice winners, ConstSlice d_output, Slice d_input) override {
    if (!enqueues()) return;
    cuda::max_pool_backward(stream(), geometry(shape), bytes(winners), values(d_output), values(d_input));
  }
  void average_pool_forward(const PoolShape& shape, ConstSlice input, Slice output) override {
    if (enqueues()) cuda::average_pool_forward(stream(), geometry(shape), values(input), values(output));
  }
  void average_pool_backward(const PoolShape& shape, ConstSlice d_output, Slice d_input) override {
    if (enqueues()) cuda::average_pool_backward(stream(), geometry(shape), values(d_output), values(d_input));
  }

  void local_response_norm_forward(const LocalResponseShape& shape, ConstSlice input, Slice output) override {
    if (enqueues()) cuda::local_response_norm(stream(), geometry(shape), values(input), values(output));
  }
  void local_response_norm_backward(const LocalResponseShape& shape, ConstSlice input, ConstSlice d_output,
                                    Slice d_input) override {
    if (!enqueues()) return;
    cuda::local_response_norm_gradient(stream(), geometry(shape), values(input), values(d_output), values(d_input));
  }

  void activation_forward(const Activation& activation, ConstSlice input, Slice output) override {
    if (!enqueues()) return;
    cuda::activation_forward(stream(), activation.word, activation.parameter, values(input), values(output),
                             count(output));
  }
  void activation_backward(const Activation& activation, ConstSlice input, ConstSlice output, ConstSlice d_output,
                           Slice d_input) override {
    if (!enqueues()) return;
    cuda::activation_backward(stream(), activation.word, activation.parameter, values(input), values(output),
                              values(d_output), values(d_input), count(d_input));
  }
  void dropout_forward(const DropoutShape& shape, ConstSlice input, Slice output) override {
    if (!enqueues()) return;
    cuda::dropout(stream(), Dropout{shape.samples, shape.size, shape.rate, shape.layer}, memory_.block(),
                  memory_.indices(), values(input), values(output));
  }
  void dropout_backward(const DropoutShape& shape, ConstSlice d_output, Slice d_input) override {
    dropout_forward(shape, d_output, d_input);  // the gradient has the same pattern and factor
  }
  void shortcut_forward(const ShortcutShape& shape, ConstSlice input, Slice output) override {
    if (enqueues()) cuda::shortcut_forward(stream(), geometry(shape), values(input), values(output));
  }
  void shortcut_backward(const ShortcutShape& shape, ConstSlice d_output, Slice d_input) override {
    if (enqueues()) cuda::shortcut_backward(stream(), geometry(shape), values(d_output), values(d_input));
  }
  void add(ConstSlice a, ConstSlice b, Slice sum) override {
    if (enqueues()) cuda::add(stream(), values(a), values(b), values(sum), count(sum));
  }
  void copy(ConstSlice from, Slice into) override {
    if (enqueues()) device_.copy(into, from.first(into.size()));
  }
  void fill(Slice values, float value) override {
    if (enqueues()) device_.fill(values, value);
  }
  void softmax_cross_entropy(std::int64_t classes, ConstSlice logits, Slice d_logits) override;

 private:
  bool enqueues() { return recorder_.enqueues(); }
  cudaStream_t stream() const { return context_.stream; }

  static T* values(Slice slice) { return slice.empty() ? nullptr : reinterpret_cast<T*>(slice.data()); }
  static const T* values(ConstSlice slice) {
    return slice.empty() ? nullptr : reinterpret_cast<const T*>(slice.data());
  }
  static std::uint8_t* bytes(Slice slice) {
    return slice.empty() ? nullptr : reinterpret_cast<std::uint8_t*>(slice.data());
  }
  static const std::uint8_t* bytes(ConstSlice slice) { return reinterpret_cast<const std::uint8_t*>(slice.data()); }
  static const float* numbers(ConstSlice slice) { return slice.empty() ? nullptr : slice.data(); }
  static float* numbers(Slice slice) { return slice.empty() ? nullptr : slice.data(); }
  static std::int64_t count(ConstSlice slice) {
    return static_cast<std::int64_t>(slice.size() * sizeof(float) / sizeof(T));
  }

  void reserve(const PassKind& kind, const Batch& batch, std::int64_t inputs);
  void write_half_parameters(const PassKind& kind);
  void write_inputs(const Batch& batch);
  void* scratch(std::int64_t bytes);

  CudaDevice& device_;
  std::unique_ptr<Libraries> libraries_;
  Context context_;
  GraphRecorder recorder_;
  PassMemory memory_;
  Buffer inputs_;                  // a batch's inputs as activations
  Buffer half_parameters_;         // with kBf16: a copy of the pass's parameters
  std::vector<Buffer> scratches_;  // the last is the largest; recorded passes may use the others
  std::int64_t samples_ = 0;
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
  bool moved = memory_.reserve(batch.samples, std::ssize(batch.inputs));
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
  samples_ = batch.samples;
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
  auto* half = reinterpret_cast<Half*>(half_parameters_.data());
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
                 static_cast<const std::uint8_t*>(images->bytes.get()), images->tables.data(), values(inputs_.slice()));
    return;
  }
  const ConstSlice arrived = memory_.inputs().first(batch.inputs.size());
  if constexpr (std::is_same_v<T, float>) {
    device_.copy(inputs_.slice().first(arrived.size()), arrived);
  } else {
    cast(stream(), arrived, reinterpret_cast<Half*>(inputs_.data()));
  }
}

template <class T>
void* CudaCompute<T>::scratch(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes) / sizeof(float) + 1;
  if (scratches_.empty() || scratches_.back().size() < size) {
    EAVE_CHECK(recorder_.allocates(), "scratch memory is had before a pass is recorded");
    scratches_.push_back(device_.allocate(size));
  }
  return scratches_.back().data();
}

template <class T>
void CudaCompute<T>::batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) {
  if (!enqueues()) return;
  const NormShape norm{shape.rows, shape.channels, shape.relu};
  norm_forward<T>(stream(), norm,
                  {values(call.input), values(call.skip), call.scale.data(), call.shift.data(), values(call.output),
                   call.saved.data(), numbers(call.running_mean), numbers(call.running_variance),
                   numbers(call.variance), kBatchNormMomentum, kBatchNormEpsilon},
                  scratch(norm_scratch_bytes(norm)));
}

template <class T>
void CudaCompute<T>::batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) {
  if (!enqueues()) return;
  const NormShape norm{shape.rows, shape.channels, shape.relu};
  norm_backward<T>(
      stream(), norm,
      {values(call.input), values(call.output), call.scale.data(), call.saved.data(), values(call.d_output),
       values(call.d_more), values(call.d_input), call.d_scale.data(), call.d_shift.data()},
      scratch(norm_scratch_bytes(norm)));
}

template <class T>
void CudaCompute<T>::batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) {
  if (!enqueues()) return;
  const NormShape norm{shape.rows, shape.channels, shape.relu};
  norm_evaluate<T>(stream(), norm,
                   {values(call.input), values(call.skip), call.scale.data(), call.shift.data(), call.mean.data(),
                    call.variance.data(), values(call.output), kBatchNormEpsilon},
                   scratch(norm_scratch_bytes(norm)));
}

template <class T>
void CudaCompute<T>::softmax_cross_entropy(std::int64_t classes, ConstSlice logits, Slice d_logits) {
  if (!enqueues()) return;
  const Loss shape{samples_, classes};
  auto* sums = static_cast<double*>(scratch(loss_scratch(shape) * static_cast<std::int64_t>(sizeof(double))));
  cuda::softmax_cross_entropy(stream(), shape, memory_.block(), memory_.labels(), values(logits), values(d_logits),
                              memory_.totals(), sums);
}

}  // namespace

std::unique_ptr<Compute> make_cuda_compute(CudaDevice& device, const CudaSettings& settings) {
  device.finish_all();
  if (settings.precision == Precision::kBf16) return std::make_unique<CudaCompute<Half>>(device, settings);
  return std::make_unique<CudaCompute<float>>(device, settings);
}

}  // namespace eave::cuda
