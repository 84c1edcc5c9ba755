// The SampleFiles of --data image-folder: finds images that cannot be decoded.
#pragma once

#include <functional>
#include <string>

#include "eave/dataset.h"

namespace eave {

// See SampleFiles::check. Throws any Error except kBadData: a file that cannot be opened or read now may be whole, and
// must not be left out.
SampleCheck check_images(const OptionValues& values, int part, int parts, const std::function<void()>& moved);

// See SampleFiles::fingerprint.
std::string image_fingerprint(const OptionValues& values);

}  // namespace eave
