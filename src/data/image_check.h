// SampleFiles of --data image-folder: which of its images cannot be decoded.
#pragma once

#include <functional>
#include <string>

#include "eave/dataset.h"

namespace eave {

// As SampleFiles::check. Throws Error of any other code than kBadData: a file that cannot be opened or read now may be
// whole, and is not to be left out.
SampleCheck check_images(const OptionValues& values, int part, int parts, const std::function<void()>& moved);

// As SampleFiles::fingerprint.
std::string image_fingerprint(const OptionValues& values);

}  // namespace eave
