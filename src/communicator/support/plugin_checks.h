// Checks of what a plug-in's method returns. eave's own methods are tested instead, and pay nothing.
#pragma once

#include <string>
#include <vector>

#include "communicator/support/plugin.h"
#include "eave/communicator.h"

namespace eave {

// "communicator 'NAME' (plug-in FILE)"
std::string name_of(const Plugin& plugin);
// The message of a fault of a plug-in. `name`: its name_of(). `what`: the call with what is wrong in it.
std::string as_fault(const std::string& name, const std::string& what);

// These throw Error(kInternal), without the name of the plug-in.
void check_consensus(ConstSlice consensus, std::size_t parameters);
void check_pull(const Pull& pull, std::size_t parameters);
void check_micro_batches(int count, int ranks);
void check_costs(const CommunicatorCosts& costs);
// All slices of `part` must be among those of state(), in full.
void check_part_of_state(const std::vector<Slice>& part, const std::vector<Slice>& state);

// Throws Error(kInternal) with the plug-in's `name`: without these values the run would not go on as it was.
// `slice`: of common_state(), with its name in the checkpoint, which has another size there or is missing.
[[noreturn]] void refuse_unfit_slice(const std::string& name, const std::string& slice_name, Slice slice);

// Checks that all calls of state() return slices of the same number and sizes.
class StateSizes {
 public:
  // The slices may be empty before Communicator::begin. Throws Error(kInternal).
  void check(const std::vector<Slice>& state);
  // Communicator::begin has returned. It may have changed the slices.
  void begin() {
    has_begun_ = true;
    is_known_ = false;
  }
  bool has_begun() const { return has_begun_; }

 private:
  bool has_begun_ = false, is_known_ = false, is_fixed_ = false;
  std::vector<std::size_t> sizes_;  // in the last call
};

// Collective. Throws AgreedError(kInternal), with `name`, if the consensus of a worker has other bits than rank 0's.
// Ranks from `workers` on only keep the center, and are not compared.
void require_same_consensus(Transport& transport, Device& device, ConstSlice consensus, int workers,
                            const std::string& name);

// Collective, after rank 0 has restored its state on the same number of ranks. Throws AgreedError(kInternal), with
// `name`, if the consensus is not the `saved` one, which lies in rank 0's host memory. Only rounding may differ,
// because sums over other hosts are taken in another order. If the consensus is rank 0's replica, nothing is compared:
// at its end such a method may have saved a mean.
void require_restored_consensus(Transport& transport, Device& device, Communicator& communicator, ConstSlice saved,
                                const std::string& name);

}  // namespace eave
