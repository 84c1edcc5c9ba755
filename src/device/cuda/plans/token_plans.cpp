// The operations of windows of tokens on a GPU: embeddings, norms, rotary positions and gates.
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/plans/plans.h"
#include "device/cuda/workspace_layout.h"
#include "device/kernel_plan.h"
#include "eave/check.h"
#include "kernels/cuda/tokens.h"

namespace eave::cuda {
namespace {

std::int64_t floats_for(std::int64_t bytes) {
  WorkspaceLayout layout;
  layout.add(bytes);
  return layout.floats();
}

// Makes a plan of `make(T())`, with T the type of activations.
template <class Make>
auto with_type(const Context& context, const Make& make) {
  return context.precision == Precision::kBf16 ? make(Half()) : make(float());
}

// Tokens are read as the host sent them: activations of bfloat16 cannot count above 256.
template <class T>
std::unique_ptr<EmbeddingShape::Plan> plan_embedding(const Context& context, const Embedding& shape) {
  const auto tokens = [&context] { return context.pass->inputs().data(); };
  return make_plan_of<EmbeddingForward, EmbeddingBackward>(
      [=, &context](const EmbeddingForward& call) {
        embed(context.stream, shape, tokens(), call.table.data(), array<float>(call.places), array<T>(call.output));
      },
      [=, &context](const EmbeddingBackward& call) {
        embed_gradient(context.stream, shape, tokens(), array<T>(call.d_output), call.adds, call.d_table.data(),
                       array<float>(call.d_places), piece(call.scratch, 0));
      },
      {0, floats_for(embed_gradient_scratch(shape))});
}

template <class T>
std::unique_ptr<RowNormShape::Plan> plan_row_norm(cudaStream_t stream, const RowNorm& norm) {
  return make_plan_of<RowNormForward, RowNormBackward>(
      [=](const RowNormForward& call) {
        row_norm(stream, norm, array<T>(call.input), call.scale.data(), array<float>(call.shift), array<T>(call.output),
                 array<float>(call.saved));
      },
      [=](const RowNormBackward& call) {
        row_norm_gradient(stream, norm, array<T>(call.input), call.scale.data(), call.saved.data(),
                          array<T>(call.d_output), array<T>(call.d_input), call.d_scale.data(),
                          array<float>(call.d_shift), piece<double>(call.scratch, 0));
      },
      {2 * norm.rows, floats_for(cuda::row_norm_scratch(norm) * static_cast<std::int64_t>(sizeof(double)))});
}

// Cosines, then sines, in the memory of the device.
std::shared_ptr<DeviceBytes> make_turns(const Context& context, const RotaryShape& shape) {
  const std::vector<float> turns = rotary_turns(shape);
  const std::size_t bytes = turns.size() * sizeof(float);
  if (context.finish_all) context.finish_all();
  auto memory = std::make_shared<DeviceBytes>(device_bytes(bytes));
  EAVE_CUDA(cudaMemcpyAsync(memory->get(), turns.data(), bytes, cudaMemcpyHostToDevice, context.stream));
  EAVE_CUDA(cudaStreamSynchronize(context.stream));
  return memory;
}

}  // namespace

std::unique_ptr<EmbeddingShape::Plan> make_plan(const Context& context, const EmbeddingShape& s) {
  const Embedding shape{s.samples, s.positions, s.vocabulary, s.places, s.width};
  return with_type(context, [&]<class T>(T) { return plan_embedding<T>(context, shape); });
}

std::unique_ptr<RowNormShape::Plan> make_plan(const Context& context, const RowNormShape& s) {
  const RowNorm norm{s.rows, s.channels, s.centred, s.epsilon};
  return with_type(context, [&]<class T>(T) { return plan_row_norm<T>(context.stream, norm); });
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const RotaryShape& shape) {
  const AttentionShape& of = shape.of;
  const Rotary rotary{of.samples, of.positions, of.heads + of.groups, of.groups, of.width};
  const auto turn = [rotary, stream = context.stream, memory = make_turns(context, shape)](bool back, const auto* from,
                                                                                           auto* into) {
    rotate(stream, rotary, static_cast<const float*>(memory->get()), back, from, into);
  };
  return with_type(context, [&]<class T>(T) {
    return make_kernel_plan<T>([=](const auto& call) { turn(false, call.input, call.output); },
                               [=](const auto& call) { turn(true, call.d_output, call.d_input); });
  });
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const GatedShape& s) {
  const Gated shape{s.word, s.rows, static_cast<int>(s.channels)};
  const auto stream = context.stream;
  return with_type(context, [&]<class T>(T) {
    return make_kernel_plan<T>(
        [=](const auto& call) { gate(stream, shape, call.input, call.output); },
        [=](const auto& call) { gate_gradient(stream, shape, call.input, call.d_output, call.d_input); });
  });
}

}  // namespace eave::cuda
