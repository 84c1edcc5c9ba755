// Models on a GPU against the same models on the CPU.
#include <algorithm>
#include <cmath>

#include "eave/check.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "kernels/elementwise/words.h"
#include "test/cuda/trainee.h"
#include "test/expectations.h"
#include "test/nn/fixture.h"

namespace eave {
namespace {

ImageShape input_of(const std::string& model) {
  if (const int crop = model_crop(model); crop > 0) return {crop, crop, 3};
  if (model == "cnn7") return {28, 28, 3};
  if (model == "resnet20") return {32, 32, 3};
  return {28, 28, 1};
}

struct Case {
  std::string model;
  ImageShape input;
  Precision precision;
};

class ModelOnGpu : public OnGpu, public testing::WithParamInterface<Case> {};

TEST_P(ModelOnGpu, gives_the_losses_and_gradients_of_the_cpu) {
  const auto& [model, input, precision] = GetParam();
  const std::unique_ptr<Device> device = module_->open_device(0);
  const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = precision});
  const std::unique_ptr<Compute> cpu = make_cpu_compute(1);
  Trainee here(model, input, *cpu), there(model, input, *gpu);
  const double allowed = tolerance(precision);
  for (int step = 0; step < kSteps; ++step) {
    const TestBatch data(input, 10, kBatch, 0, step);
    SCOPED_TRACE("step " + std::to_string(step));
    const double expected = here.step(data.batch, true);
    // The first three steps run whole passes (enqueued, recorded, replayed). Every fourth step reports its gradient in
    // parts. Rounding errors grow with the steps.
    EXPECT_NEAR(there.step(data.batch, step % 4 == 3), expected, allowed * (1 + step) * std::abs(expected));
    if (step == 0) {
      EXPECT_LT(relative_distance(there.gradients(), here.gradients()), 4 * allowed);
    }
  }
  EXPECT_LT(relative_distance(there.parameters(), here.parameters()), allowed);
  if (!here.statistics().empty()) {
    EXPECT_LT(relative_distance(there.statistics(), here.statistics()), allowed);
  }
}

TEST_P(ModelOnGpu, evaluates_as_the_cpu_does) {
  const auto& [model, input, precision] = GetParam();
  const std::unique_ptr<Device> device = module_->open_device(0);
  const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = precision});
  const std::unique_ptr<Compute> cpu = make_cpu_compute(1);
  Trainee here(model, input, *cpu), there(model, input, *gpu);
  for (const std::int64_t samples : {kBatch, std::int64_t{3}, kBatch, 2 * kBatch, kBatch}) {
    const TestBatch data(input, 10, samples);
    const Score expected = here.evaluate(data.batch), score = there.evaluate(data.batch);
    EXPECT_NEAR(score.loss_sum, expected.loss_sum, 2 * tolerance(precision) * expected.loss_sum);
    if (precision == Precision::kFp32) {
      EXPECT_EQ(score.correct, expected.correct);
    }
  }
}

// Training stops if a loss is not finite, so relu must not turn NaN into 0.
TEST_F(OnGpu, a_weight_that_is_no_number_shows_in_the_loss) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    for (const char* text :
         {"flatten; dense 16; relu; dense classes", "conv2d 8 3x3; relu; max_pool 2; flatten; dense classes",
          "conv2d 8 3x3; relu; conv2d 8 3x3; relu; flatten; dense classes",
          "flatten; dense 16; gelu; tanh; leaky_relu; dense classes"}) {
      const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = precision});
      Trainee trainee(text, {13, 11, 3}, *gpu);
      trainee.spoil_first_weight();
      const TestBatch data({13, 11, 3}, 10, kBatch);
      EXPECT_FALSE(std::isfinite(trainee.evaluate(data.batch).loss_sum)) << text;
    }
  }
}

// A part of the hidden units is inactive, so NaN in the gradient of the logits would not reach all weights.
void expect_no_step(Trainee& trainee, const Batch& batch, bool in_parts) {
  trainee.step(batch, in_parts);  // fills the velocity
  trainee.forbid_class_0();
  const std::vector<float> before = trainee.parameters();
  for (int step = 0; step < 3; ++step) {  // enqueued, recorded and replayed
    EXPECT_FALSE(std::isfinite(trainee.step(batch, in_parts)));
    EXPECT_EQ(trainee.parameters(), before) << "step " << step;
    EXPECT_TRUE(std::ranges::all_of(trainee.gradients(), [](float g) { return std::isnan(g); }));
  }
}

TEST_F(OnGpu, a_step_whose_loss_is_infinite_moves_nothing_as_on_the_cpu) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  TestBatch data({13, 11, 3}, 10, kBatch);
  data.labels[2] = 0;
  for (const char* text :
       {"flatten; dense 16; relu; dense classes", "conv2d 8 3x3; relu; max_pool 2; flatten; dense classes"})
    for (const bool in_parts : {false, true}) {
      SCOPED_TRACE(text);
      const std::unique_ptr<Compute> cpu = make_cpu_compute(1);
      Trainee here(text, {13, 11, 3}, *cpu);
      here.leave_out_nonfinite_batches();
      expect_no_step(here, data.batch, in_parts);
      for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
        const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = precision});
        Trainee there(text, {13, 11, 3}, *gpu);
        there.leave_out_nonfinite_batches();
        expect_no_step(there, data.batch, in_parts);
      }
    }
}

// Its kernel keeps a head's results in registers.
TEST_F(OnGpu, attention_of_wider_heads_is_refused) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = Precision::kFp32});
  const TestBatch data({3, 1, 3}, 10, kBatch);
  Trainee widest("conv2d 768 1x1; attention 1; flatten; dense classes", {3, 1, 3}, *gpu);
  EXPECT_TRUE(std::isfinite(widest.evaluate(data.batch).loss_sum));
  expect_error(ExitCode::kConfiguration, "a head has 257 channels, and a GPU takes at most 256", [&] {
    const Trainee wider("conv2d 771 1x1; attention 1; flatten; dense classes", {3, 1, 3}, *gpu);
  });
}

// The host may run any number of steps ahead of the GPU.
TEST_F(OnGpu, steps_whose_losses_nobody_asks_for_are_the_same_steps) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = Precision::kFp32});
  const std::string model = "flatten; dense 16; relu; dropout 0.5; dense classes";
  Trainee asked(model, {13, 11, 3}, *gpu), not_asked(model, {13, 11, 3}, *gpu);
  for (int step = 0; step < 12; ++step) {
    const TestBatch data({13, 11, 3}, 10, kBatch, kBatch * step, step);
    asked.step(data.batch, false);
  }
  for (int step = 0; step < 12; ++step) {
    const TestBatch data({13, 11, 3}, 10, kBatch, kBatch * step, step);
    not_asked.start(data.batch, false);
  }
  EXPECT_EQ(not_asked.parameters(), asked.parameters());
}

// Steps also write a bfloat16 copy of the parameters, which belongs to the Compute. When the Compute is gone, they must
// not write to that memory, which others may use by then.
TEST_F(OnGpu, nothing_is_written_for_a_compute_that_is_gone) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  Buffer parameters = device->allocate(1000), gradients = device->allocate(1000);
  const TestBatch data({13, 11, 3}, 10, kBatch);
  for (int round = 0; round < 3; ++round) {
    {
      const std::unique_ptr<Compute> gpu = module_->make_compute(*device, {.precision = Precision::kBf16});
      gpu->begin_pass({.parameters = parameters.data(), .parameter_size = 1000}, {data.batch});
      gpu->end_pass();
    }
    device->update_sgd(parameters.slice(), gradients.slice(), {}, {.step_scale = 0.1f}, nullptr);
    device->wait();
  }
}

// A model with each word of kernels/elementwise.
std::string all_activations() {
  std::string text = "conv2d 8 3x3; ";
  for (const std::string word : {
#define EAVE_WORD(word, Word) #word,
           EAVE_EACH_ELEMENTWISE(EAVE_WORD)
#undef EAVE_WORD
       }) {
    text += "batch_norm; " + word + "; ";
  }
  return text + "global_pool; dense classes";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    if (kSteps < 10 && precision == Precision::kTf32) continue;  // the emulator computes it as fp32
    for (const std::string& name : model_names()) {
      if (model_reads_tokens(name)) continue;                  // token_parity_test.cpp
      if (name == "resnet18" || name == "resnet50") continue;  // the specifications below cover their layers
      all.push_back({name, input_of(name), precision});
    }
    for (const char* text :
         {"conv2d 5 3x3; relu; max_pool 2; conv2d 7 2x2 stride 2 pad 1; batch_norm; relu; flatten; dense classes",
          "conv2d 8 3x3 pad 1 no_bias; average_pool 2; residual(conv2d 16 3x3 pad 1 stride 2; batch_norm; relu; "
          "conv2d 16 3x3 pad 1; batch_norm); relu; max_pool 3 stride 2; dropout 0.3; global_pool; dense classes",
          "conv2d 8 3x3; relu; residual(conv2d 16 3x3 pad 1 stride 2 no_bias; batch_norm; relu; conv2d 16 3x3 pad 1 "
          "no_bias; "
          "batch_norm | conv2d 16 1x1 stride 2 no_bias; batch_norm); relu; local_response_norm radius 3 alpha 0.2 beta "
          "0.6; "
          "global_pool; dense classes",
          "conv2d 32 3x3; attention 4 groups 2 dropout 0.2; conv2d 24 1x1; attention 1; global_pool; dense classes"}) {
      all.push_back({text, {13, 11, 3}, precision});
    }
    all.push_back({all_activations(), {13, 11, 3}, precision});
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& each) {
  const char* const precisions[] = {"fp32", "tf32", "bf16"};
  std::string model = each.param.model;
  std::ranges::replace(model, '-', '_');
  return (model.find(' ') == std::string::npos ? model : "text" + std::to_string(each.index)) + "_" +
         precisions[static_cast<int>(each.param.precision)];
}

INSTANTIATE_TEST_SUITE_P(Zoo, ModelOnGpu, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace eave
