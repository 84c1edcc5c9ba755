#include "communicator/support/plugin_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ExitCode::kInternal, what); }

std::string values_text(std::size_t count) { return count_text(static_cast<std::int64_t>(count), "value"); }

// The distance of two consensuses above which they differ by more than rounding, as a share of their length.
constexpr double kLargestRounding = 1e-5;

// As a share of the length of `saved`. 0 if `saved` is not finite, and infinite if only `now` is not.
double distance(ConstSlice now, ConstSlice saved) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    difference += (double{now[i]} - saved[i]) * (double{now[i]} - saved[i]);
    length += double{saved[i]} * saved[i];
  }
  if (!std::isfinite(length) || difference == 0) return 0;
  const double share = std::sqrt(difference / length);
  return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
}

// In the host's memory. `copy` holds the values if they lie elsewhere.
ConstSlice on_host(Device& device, ConstSlice values, std::vector<float>& copy) {
  if (device.kind() == DeviceKind::kCpu || !device.holds(values)) return values;
  copy.resize(values.size());
  device.read(values, copy);
  return copy;
}

}  // namespace

std::string name_of(const Plugin& plugin) {
  return "communicator '" + plugin.method + "' (plug-in " + plugin.path + ")";
}

std::string as_fault(const std::string& name, const std::string& what) {
  return name + ": " + what + "; tell whoever wrote the plug-in";
}

void check_consensus(ConstSlice consensus, std::size_t parameters) {
  if (consensus.size() == parameters) return;
  refuse("its consensus has " + values_text(consensus.size()) + ", and the model " +
         count_text(static_cast<std::int64_t>(parameters), "parameter"));
}

void check_pull(const Pull& pull, std::size_t parameters) {
  const auto check_size = [&](const char* name, Slice values) {
    if (values.size() != parameters)
      refuse("the " + std::string(name) + " of its Pull has " + values_text(values.size()) + ", and the model " +
             count_text(static_cast<std::int64_t>(parameters), "parameter"));
  };
  check_size("center", pull.center);
  check_size("difference", pull.difference);
  if (!std::isfinite(pull.alpha)) refuse("the alpha of its Pull is " + number_text(double{pull.alpha}));
}

void check_micro_batches(int count, int ranks) {
  if (count == 0) return;
  const int of_rank = count / ranks;
  const bool is_even = count > 0 && count % ranks == 0 && std::has_single_bit(static_cast<unsigned>(of_rank));
  if (is_even && std::has_single_bit(static_cast<unsigned>(ranks))) return;
  refuse("it returns " + std::to_string(count) + "; with " + count_text(ranks, "rank") +
         ", return 0, or with 1, 2, 4, 8 ... ranks a number of parts that gives each rank 1, 2, 4, 8 ... of them");
}

void check_costs(const CommunicatorCosts& costs) {
  if (std::isfinite(costs.seconds_waiting) && costs.seconds_waiting >= 0) return;
  refuse("its seconds_waiting are " + number_text(costs.seconds_waiting) + "; return a finite number from 0 up");
}

void check_part_of_state(const std::vector<Slice>& part, const std::vector<Slice>& state) {
  for (const Slice slice : part) {
    const bool is_there = slice.empty() || std::ranges::any_of(state, [&](Slice each) {
                            return each.data() == slice.data() && each.size() == slice.size();
                          });
    if (!is_there) refuse("it returns a slice of " + values_text(slice.size()) + " that is none of state()");
  }
}

void refuse_unfit_slice(const std::string& name, const std::string& slice_name, Slice slice) {
  refuse(as_fault(name, "common_state(): " + slice_name + " has " + values_text(slice.size()) +
                            " here, and another number in the checkpoint; a common slice has the same size with any "
                            "number of ranks"));
}

void StateSizes::check(const std::vector<Slice>& state) {
  if (is_known_ && state.size() != sizes_.size())
    refuse("it returns " + count_text(std::ssize(state), "slice") + ", and returned " + std::to_string(sizes_.size()) +
           " before; their number is fixed when begin() returns");
  sizes_.resize(state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (is_fixed_ && state[i].size() != sizes_[i])
      refuse("slice " + std::to_string(i) + " has " + values_text(state[i].size()) + ", and had " +
             std::to_string(sizes_[i]) + " before; a slice keeps its size from begin() on");
    sizes_[i] = state[i].size();
  }
  is_known_ = true;
  is_fixed_ = has_begun_;
}

void require_same_consensus(Transport& transport, Device& device, ConstSlice consensus, int workers,
                            const std::string& name) {
  std::vector<float> copy;
  const ConstSlice values = on_host(device, consensus, copy);
  const std::vector<std::string> hashes =
      transport.gather(hash_of({reinterpret_cast<const char*>(values.data()), values.size_bytes()}).text());
  let_first_judge(transport, [&] {
    for (int rank = 1; rank < workers; ++rank) {
      if (hashes[static_cast<std::size_t>(rank)] == hashes[0]) continue;
      refuse(as_fault(name, "consensus(): rank " + std::to_string(rank) +
                                " has other values than rank 0, and all ranks must return the same model"));
    }
  });
}

void require_restored_consensus(Transport& transport, Device& device, Communicator& communicator, ConstSlice saved,
                                const std::string& name) {
  const ConstSlice consensus = communicator.consensus();
  const bool is_of_first = communicator.consensus_is_first_worker();
  std::vector<float> copy;
  const ConstSlice now = on_host(device, consensus, copy);
  let_first_judge(transport, [&] {
    if (is_of_first || distance(now, saved) <= kLargestRounding) return;
    refuse(as_fault(name,
                    "its consensus is another one than was saved, so state() does not return all values that "
                    "consensus() is made of"));
  });
}

}  // namespace eave
