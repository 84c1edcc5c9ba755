// Training stops when a loss is not finite, so no layer may turn an activation that is not finite into a finite one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "eave/model.h"
#include "nn/specification.h"

namespace eave {
namespace {

double loss_with_nan(const std::string& model_text, ImageShape image, bool in_image) {
  constexpr std::int64_t kSamples = 2;
  const auto cpu = make_cpu_compute(1);
  Model model(model_text, image, 10, kSamples, *cpu);
  std::vector<float> parameters(static_cast<std::size_t>(model.parameter_size()));
  std::vector<float> statistics(static_cast<std::size_t>(model.statistics_size()));
  model.initialise(1, parameters, statistics);
  std::vector<float> inputs(static_cast<std::size_t>(kSamples * image.size()), 0.5F);
  (in_image ? inputs[inputs.size() / 4] : parameters[0]) = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int32_t> labels = {3, 4};
  const std::vector<std::int64_t> indices = {0, 1};
  return model.evaluate({kSamples, 0, inputs, labels, indices}, parameters, statistics).loss_sum;
}

TEST(NanInLoss, shows_for_every_model_on_the_cpu) {
  for (const std::string& name : model_names()) {
    if (name == "resnet18" || name == "resnet50") continue;  // their layers are those of resnet20
    if (model_reads_tokens(name)) continue;                  // its inputs are tokens, which are never NaN
    const int crop = model_crop(name);
    const ImageShape image = {crop > 0 ? crop : 32, crop > 0 ? crop : 32, 3};
    for (const bool in_image : {false, true})
      EXPECT_FALSE(std::isfinite(loss_with_nan(model_specification(name), image, in_image))) << name;
  }
}

TEST(NanInLoss, shows_behind_convolutions_with_relu) {
  for (const char* text :
       {"conv2d 8 3x3; relu; max_pool 2; flatten; dense classes",
        "conv2d 8 3x3; relu; conv2d 8 3x3; relu; flatten; dense classes",
        "conv2d 5 3x3 no_bias; relu; conv2d 7 1x1; relu; max_pool 3 stride 2; flatten; dense classes"})
    for (const bool in_image : {false, true})
      EXPECT_FALSE(std::isfinite(loss_with_nan(text, {13, 11, 3}, in_image))) << text;
}

}  // namespace
}  // namespace eave
