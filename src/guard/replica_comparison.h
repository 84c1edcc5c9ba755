// Compares what a method keeps bit-identical on all ranks. A bit that memory, a cable or a core has flipped on one of
// them would live on there for ever, and so would values that somebody has loaded on one rank alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "eave/transport.h"

namespace eave {

// What is compared, as Communicator says: its replicated() and exchange_under_way().
struct ReplicatedVectors {
  std::function<std::vector<Slice>()> values;
  std::function<std::optional<std::int64_t>()> exchange_under_way;
};

struct ReplicaComparisonSettings {
  std::int64_t every = 0;   // steps from one comparison to the next; 0: nothing is compared
  bool repairs = false;     // a rank that differs gets the bits of the majority
  std::string causes = {};  // what may have parted the ranks, at the end of the message: "memory has failed there"
  // Ends the message of a comparison that ends the job: if most ranks agree, and if they do not.
  std::string advice_with_majority = {}, advice = {};
  std::string advice_at_begin = {};  // of what was loaded from a checkpoint
};

// Each rank hashes its vectors after the same step (XXH3, 128 bits) and adds the hash to a small sum that runs behind
// the next steps. All ranks look at the sum after the same later step, so all find the same. That is some steps later,
// but not before the ranks have waited for an exchange that was under way. With `repairs` the sum is waited for.
class ReplicaComparison {
 public:
  // The device is the one of the vectors. It and the transport outlive this. `warn` is called on rank 0 after a repair.
  ReplicaComparison(Transport& transport, Device& device, ReplicatedVectors vectors, ReplicaComparisonSettings settings,
                    std::function<void(const std::string&)> warn);

  // Before the first step, with the number of steps that were done before.
  void begin(std::int64_t steps) { steps_done_ = first_step_ = steps; }
  // After each step, on all ranks. Throws AgreedError(kInternal) if ranks differ and are not repaired.
  void after_step(std::int64_t index);
  // Collective, between steps: compares now. Throws as after_step.
  void compare();
  // Collective: waits for a comparison under way. Throws as after_step.
  void settle();
  std::int64_t steps_since() const { return steps_since_; }  // the last comparison began
  std::int64_t repaired() const { return repaired_; }        // times

 private:
  struct UnderWay {
    std::int64_t step = 0;  // after which, from 1
    std::vector<float> values;
    Pending pending;
  };

  bool is_due() const;
  void start(const std::vector<Slice>& vectors);
  Hash128 hash_of_all(const std::vector<Slice>& vectors);
  void judge(const std::vector<std::string>& hashes, std::int64_t step);  // of all ranks
  const std::string& advice(bool is_majority, bool is_loaded) const;
  void repair(int root);

  Transport& transport_;
  Device& device_;
  const ReplicatedVectors vectors_;
  const ReplicaComparisonSettings settings_;
  const std::function<void(const std::string&)> warn_;
  std::int64_t steps_since_ = 0, steps_done_ = 0, first_step_ = 0, repaired_ = 0;
  std::vector<float> copy_;  // of what the host cannot read
  std::optional<UnderWay> under_way_;
};

}  // namespace eave
