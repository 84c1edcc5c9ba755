// Embeddings, norms, rotary positions and gates of windows of tokens on the CPU.
#include <vector>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_plan.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/tokens.h"

namespace eave {

std::unique_ptr<EmbeddingShape::Plan> make_cpu_plan(CpuContext&, const EmbeddingShape& s) {
  const cpu::Embedding shape{s.samples, s.positions, s.vocabulary, s.places, s.width};
  return make_plan_of<EmbeddingForward, EmbeddingBackward>(
      [shape](const EmbeddingForward& call) {
        cpu::embed(shape, call.tokens.data(), call.table.data(), array<float>(call.places), call.output.data());
      },
      [shape](const EmbeddingBackward& call) {
        cpu::embed_gradient(shape, call.tokens.data(), call.d_output.data(), call.adds, call.d_table.data(),
                            array<float>(call.d_places));
      });
}

namespace {

// Evaluation lends no `saved`, so the moments then go to memory of the plan.
class CpuRowNorm final : public RowNormShape::Plan {
 public:
  explicit CpuRowNorm(const RowNormShape& s)
      : norm_{s.rows, s.channels, s.centred, s.epsilon}, moments_(static_cast<std::size_t>(2 * s.rows)) {}
  std::int64_t saved_size() const override { return 2 * norm_.rows; }
  std::int64_t scratch_size() const override { return cpu::row_norm_scratch(norm_); }

  void forward(const RowNormForward& call) override {
    cpu::row_norm(norm_, call.input.data(), call.scale.data(), array<float>(call.shift), call.output.data(),
                  call.saved.empty() ? moments_.data() : call.saved.data());
  }
  void backward(const RowNormBackward& call) override {
    cpu::row_norm_gradient(norm_, call.input.data(), call.scale.data(), call.saved.data(), call.d_output.data(),
                           array<float>(call.d_input), call.d_scale.data(), array<float>(call.d_shift),
                           call.scratch.data());
  }

 private:
  cpu::RowNorm norm_;
  std::vector<float> moments_;
};

}  // namespace

std::unique_ptr<RowNormShape::Plan> make_cpu_plan(CpuContext&, const RowNormShape& shape) {
  return std::make_unique<CpuRowNorm>(shape);
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const RotaryShape& shape) {
  const AttentionShape& of = shape.of;
  const std::vector<float> turns = rotary_turns(shape);
  const auto sines_at = static_cast<std::ptrdiff_t>(turns.size() / 2);
  const std::vector<float> cosines(turns.begin(), turns.begin() + sines_at),
      sines(turns.begin() + sines_at, turns.end());
  const cpu::Rotary rotary{of.samples, of.positions, of.heads + of.groups, of.groups, of.width};
  // The gradient is turned back.
  std::vector<float> back(sines);
  for (float& sine : back) sine = -sine;
  return make_kernel_plan<float>(
      [=](const auto& call) { cpu::rotate(rotary, cosines.data(), sines.data(), call.input, call.output); },
      [=](const auto& call) { cpu::rotate(rotary, cosines.data(), back.data(), call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const GatedShape& shape) {
  const std::int64_t channels = shape.channels;
  return make_kernel_plan<float>(
      [=](const auto& call) {
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const float* input = call.input + 2 * row * channels;
          float* output = call.output + row * channels;
          cpu::activation_forward(shape.word, 0, input, output, channels);
          cpu::multiply(output, input + channels, output, channels);
        }
      },
      [=](const auto& call) {
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const float *input = call.input + 2 * row * channels, *d_output = call.d_output + row * channels;
          float *d_first = call.d_input + 2 * row * channels, *d_second = d_first + channels;
          cpu::activation_forward(shape.word, 0, input, d_second, channels);
          cpu::multiply(d_second, d_output, d_second, channels);
          cpu::multiply(d_output, input + channels, d_first, channels);
          // No word reads the output, because relu's derivative may as well be taken at its input.
          cpu::activation_backward(shape.word, 0, input, input, d_first, d_first, channels);
        }
      });
}

}  // namespace eave
