#include "communicator/support/batch_moments.h"

#include <algorithm>

namespace eave {

// Each rank has its own place in the sum. The other ranks add zeros there, so nothing is rounded.
ConstSlice BatchMoments::gather(ConstSlice mine) {
  all_.assign(mine.size() * static_cast<std::size_t>(transport_.size()), 0);
  std::ranges::copy(mine, all_.begin() + static_cast<std::ptrdiff_t>(mine.size()) * transport_.rank());
  sum(all_);
  return all_;
}

OptionSpec batch_norm_option() {
  return {"batch-norm",
          OptionType::kText,
          "per-rank",
          "per-rank: each rank normalises by the mean and variance of its own batch; sync: by those over the batches "
          "of all ranks, which meet twice a layer and step for it (CPU only)",
          {"per-rank", "sync"}};
}

bool syncs_batch_norm(const OptionValues& values) { return values.text("batch-norm") == "sync"; }

}  // namespace eave
