// Words about samples that cannot be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eave/dataset.h"

namespace eave {

// Lines: "3 of 500 images cannot be used: ADVICE", one for each of the first `most_named`, and how many more there are.
std::vector<std::string> list_bad_samples(const std::vector<BadSample>& bad, std::int64_t of, const std::string& advice,
                                          std::size_t most_named = 20);

// Throws Error(kBadData) with that list and what can be done, unless there is none.
void refuse_bad_samples(const std::vector<BadSample>& bad, std::int64_t of);

}  // namespace eave
