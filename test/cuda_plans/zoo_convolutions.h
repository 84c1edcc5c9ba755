// The convolutions of the named models, as their layers ask a device for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/compute.h"

namespace eave {

// Of every model of the zoo, for every kind of images that it is trained on, with a batch of so many samples; each
// shape once, in training.
std::vector<ConvolutionShape> zoo_convolutions(std::int64_t samples);
// Of one model, each shape once.
std::vector<ConvolutionShape> zoo_convolutions_of(const std::string& model, ImageShape input, std::int64_t samples);

}  // namespace eave
