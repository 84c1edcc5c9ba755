// Models of tokens on a GPU against the same models on the CPU.
#include <ostream>

#include "test/cuda/trainee.h"
#include "test/nn/token_batch.h"

namespace eave {
namespace {

struct TokenCase {
  std::string name, text;
  int positions, vocabulary;
  float smoothing = 0;
  friend std::ostream& operator<<(std::ostream& out, const TokenCase& c) { return out << c.text; }
};

// A vocabulary above 256 has tokens that bfloat16 cannot hold. Odd ones fill no packets.
const std::vector<TokenCase> kTokenCases = {
    {"embedding", "embedding 5; linear classes", 3, 7},
    {"one_position", "embedding 4 positions 3; linear 5; relu; linear classes no_bias", 1, 301},
    {"shorter_windows", "embedding 8 positions 19; tied_output", 11, 1003},
    {"tied_output", "embedding 6 positions 4; linear 6; gelu; tied_output", 4, 11},
    {"layer_norm", "embedding 21; layer_norm; linear classes", 3, 13},
    {"rms_norm_of_one_position", "embedding 19; rms_norm epsilon 0.1; linear classes", 1, 13},
    {"rotary", "embedding 8; linear 24; rotary 2; attention 2; linear classes", 7, 9},
    {"rotary_of_groups", "embedding 4; linear 32; rotary 2 groups 1 base 100; attention 2 groups 1; linear classes", 5,
     5},
    {"gated", "embedding 6; linear 26; gated silu; linear 10; gated relu; linear classes", 3, 9},
    {"smoothed_labels", "embedding 5; dropout 0.2; linear 5; tied_output", 9, 261, 0.3f},
    {"blocks",
     "embedding 8 positions 10; residual(layer_norm; linear 24; rotary 2; attention 2; linear 8; dropout 0.1); "
     "residual(rms_norm; linear 26 no_bias; gated silu; linear 8 no_bias); residual(layer_norm no_bias; linear 12; "
     "gelu_tanh; linear 8); "
     "layer_norm; tied_output",
     10, 517, 0.1f},
    {"gpt",
     "embedding 12 positions 9; dropout 0.1; residual(layer_norm; linear 36; attention 3 dropout 0.2; linear 12; "
     "dropout "
     "0.1); residual(layer_norm; linear 48; gelu; linear 12); layer_norm; tied_output",
     9, 101},
    {"llama",
     "embedding 16; residual(rms_norm; linear 32 no_bias; rotary 4 groups 2; attention 4 groups 2; linear 16 no_bias); "
     "residual(rms_norm; linear 44 no_bias; gated silu; linear 16 no_bias); rms_norm; tied_output",
     70, 37},
};

class TokensOnGpu : public OnGpu, public testing::WithParamInterface<TokenCase> {
 protected:
  void compare(Precision precision, std::int64_t most_logits = CudaSettings().most_logits) const {
    const TokenCase& c = GetParam();
    const ImageShape input{c.positions, 1, 1};
    const std::unique_ptr<Device> device = module_->open_device(0);
    const std::unique_ptr<Compute> gpu =
        module_->make_compute(*device, {.precision = precision, .most_logits = most_logits});
    const std::unique_ptr<Compute> cpu = make_cpu_compute(1);
    Trainee here(c.text, input, *cpu, {c.vocabulary, c.smoothing}),
        there(c.text, input, *gpu, {c.vocabulary, c.smoothing});
    const double allowed = tolerance(precision);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const std::unique_ptr<TokenBatch> data = batch(kBatch, kBatch * step);
      data->batch.step = step;
      const double expected = here.step(data->batch, true);
      EXPECT_NEAR(there.step(data->batch, step % 4 == 3), expected, allowed * (1 + step) * expected);
      if (step == 0) {
        EXPECT_LT(relative_distance(there.gradients(), here.gradients()), 4 * allowed);
      }
    }
    EXPECT_LT(relative_distance(there.parameters(), here.parameters()), allowed);
    for (const std::int64_t samples : {kBatch, std::int64_t{1}, 2 * kBatch}) {
      const std::unique_ptr<TokenBatch> data = batch(samples, 100);
      const Score expected = here.evaluate(data->batch), score = there.evaluate(data->batch);
      EXPECT_EQ(score.samples, expected.samples);
      EXPECT_NEAR(score.loss_sum, expected.loss_sum, 2 * allowed * expected.loss_sum);
      if (precision == Precision::kFp32) {
        EXPECT_EQ(score.correct, expected.correct);
      }
    }
  }

  static std::unique_ptr<TokenBatch> batch(std::int64_t samples, std::int64_t first_index) {
    const TokenCase& c = GetParam();
    auto data = std::make_unique<TokenBatch>(c.positions, c.vocabulary, samples, first_index);
    if (c.text.find("global_pool") == std::string::npos) return data;
    data->labels.resize(static_cast<std::size_t>(samples));  // the first positions have labels
    data->batch.labels = data->labels;
    data->batch.targets = 1;
    return data;
  }
};

TEST_P(TokensOnGpu, give_the_results_of_the_cpu_in_float32) { compare(Precision::kFp32); }
TEST_P(TokensOnGpu, give_the_results_of_the_cpu_in_bfloat16) { compare(Precision::kBf16); }

// Some models have biases in their last layer. The last part is smaller than the others.
TEST_P(TokensOnGpu, give_the_results_of_the_cpu_with_logits_in_parts) {
  const TokenCase& c = GetParam();
  if (c.text.find("global_pool") != std::string::npos) GTEST_SKIP() << "one row of logits for each window";
  compare(Precision::kFp32, 8 * c.vocabulary);
  compare(Precision::kBf16, 8 * c.vocabulary);
}

TEST_P(TokensOnGpu, give_the_same_bits_again) {
  const TokenCase& c = GetParam();
  const std::unique_ptr<Device> device = module_->open_device(0);
  std::vector<std::vector<float>> parameters;
  for (int run = 0; run < 2; ++run) {
    const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = Precision::kFp32});
    Trainee trainee(c.text, {c.positions, 1, 1}, *gpu, {c.vocabulary, c.smoothing});
    for (int step = 0; step < kSteps; ++step) trainee.step(batch(kBatch, kBatch * step)->batch, false);
    parameters.push_back(trainee.parameters());
  }
  EXPECT_EQ(parameters[1], parameters[0]);
}

INSTANTIATE_TEST_SUITE_P(Layers, TokensOnGpu, testing::ValuesIn(kTokenCases),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace eave
