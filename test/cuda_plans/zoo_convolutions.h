// The convolutions of the named models, as the layers request them from a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/operations.h"

namespace eave {

// The convolutions of every model of the zoo in training, with `samples` images in a batch, for each shape of images
// that the model is trained on. Each shape of convolution is listed once.
std::vector<ConvolutionShape> zoo_convolutions(std::int64_t samples);
// The convolutions of one model for one shape of images, each shape of convolution once.
std::vector<ConvolutionShape> zoo_convolutions_of(const std::string& model, ImageShape input, std::int64_t samples);

}  // namespace eave
