#include "data/loading/bad_samples.h"

#include <algorithm>

#include "base/printable.h"

namespace eave {

std::vector<std::string> list_bad_samples(const std::vector<BadSample>& bad, std::int64_t of, const std::string& advice,
                                          std::size_t most_named) {
  std::vector<std::string> lines = {std::to_string(bad.size()) + " of " + std::to_string(of) +
                                    (of == 1 ? " image" : " images") + " cannot be used: " + advice};
  for (std::size_t i = 0; i < std::min(bad.size(), most_named); ++i) lines.push_back("  " + bad[i].message);
  if (bad.size() > most_named) lines.push_back("  and " + std::to_string(bad.size() - most_named) + " more");
  return lines;
}

void refuse_bad_samples(const std::vector<BadSample>& bad, std::int64_t of) {
  if (bad.empty()) return;
  throw LinesError(ExitCode::kBadData, list_bad_samples(bad, of,
                                                        "get or make them again, remove them, or give --on-bad-image "
                                                        "skip, which leaves them out"));
}

}  // namespace eave
