#include "data/bad_samples.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {

std::string list_bad_samples(const std::vector<BadSample>& bad, std::int64_t of) {
  constexpr std::size_t kMostNamed = 20;
  std::string text =
      std::to_string(bad.size()) + " of " + std::to_string(of) + (of == 1 ? " image" : " images") + " cannot be used:";
  for (std::size_t i = 0; i < std::min(bad.size(), kMostNamed); ++i) text += "\n  " + bad[i].message;
  if (bad.size() > kMostNamed) text += "\n  and " + std::to_string(bad.size() - kMostNamed) + " more";
  return text;
}

void refuse_bad_samples(const std::vector<BadSample>& bad, std::int64_t of) {
  if (bad.empty()) return;
  throw Error(ExitCode::kBadData, list_bad_samples(bad, of) +
                                      "\nGet or make them again, remove them, or give --on-bad-image skip, which "
                                      "leaves them out");
}

}  // namespace eave
