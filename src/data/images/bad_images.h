// Finds images that cannot be decoded, lists them in messages, and leaves them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/images/image_listing.h"
#include "eave/dataset.h"

namespace eave {

// See SampleFiles::check. Throws any Error except kBadData: a file that cannot be opened or read now may be whole, and
// must not be left out.
SampleCheck check_images(const OptionValues& values, int part, int parts, const std::function<void()>& moved);

// See SampleFiles::fingerprint.
std::string image_fingerprint(const OptionValues& values);

// The lines of a message: "3 of 500 images cannot be used: ADVICE", one line for each of the first `most_named`, and
// the number of further ones.
std::vector<std::string> list_bad_samples(const std::vector<BadSample>& bad, std::int64_t of, const std::string& advice,
                                          std::size_t most_named = 20);

// Throws Error(kBadData) with that list and advice, unless `bad` is empty.
void refuse_bad_samples(const std::vector<BadSample>& bad, std::int64_t of);

// Removes these files, and the bad ones, from the listing. Throws Error(kBadData) if no image is left of a class, or of
// the test set.
void leave_out(ImageListing& listing, const std::vector<BadSample>& files);

}  // namespace eave
