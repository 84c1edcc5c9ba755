// Compares the values that a method keeps bit-identical on all ranks. Memory, a cable or a core may flip a bit on one
// rank, or somebody may load values on one rank alone. Such a difference would stay forever.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "eave/transport.h"

namespace eave {

// The values to compare: Communicator's replicated() and exchange_under_way().
struct ReplicatedVectors {
  std::function<std::vector<Slice>()> values;
  std::function<std::optional<std::int64_t>()> exchange_under_way;
  // Vectors of the caller, which are equal on all ranks at any time. A comparison after a step includes them, but waits
  // for a step after which `values` returns something.
  std::vector<Slice> of_caller = {};
};

struct ReplicaComparisonSettings {
  std::int64_t every = 0;  // steps between comparisons; 0: never
  bool repairs = false;    // a rank that differs gets the majority's bits
  // Possible reasons, which end the message, such as "memory has failed there".
  std::string causes = {};
  std::string plugin = {};  // "communicator 'NAME' (plug-in FILE)" if a plug-in brings the method
  // Advice at the end of the message of a comparison that ends the job: if most ranks agree, and if they do not.
  std::string advice_with_majority = {}, advice = {};
  std::string advice_at_begin = {};  // for values loaded from a checkpoint
};

// After the same step, each rank hashes its vectors (XXH3, 128 bits). It adds the hash to a small sum, which runs
// during the next steps. After the same later step, all ranks look at the sum, so all come to the same result. They
// look some steps later, and not before they have waited for an exchange that was in flight. With `repairs` they wait
// for the sum at once.
class ReplicaComparison {
 public:
  // The vectors lie on `device`. Transport and device outlive this. `warn` is called on rank 0 after a repair.
  ReplicaComparison(Transport& transport, Device& device, ReplicatedVectors vectors, ReplicaComparisonSettings settings,
                    std::function<void(const std::string&)> warn);

  // Called before the first step, with the number of steps that earlier runs have done.
  void begin(std::int64_t steps) { steps_done_ = first_step_ = steps; }
  // Collective: throws AgreedError(kInternal) if a plug-in names other vectors on one rank than on rank 0. Then the
  // ranks would make different calls.
  void require_same_sizes();
  // Called after each step, on all ranks. Throws AgreedError(kInternal) if ranks differ and are not repaired.
  void after_step(std::int64_t index);
  // Collective, between steps: compares now. Throws as after_step does.
  void compare();
  // Collective: waits for a comparison in flight. Throws as after_step does.
  void settle();
  std::int64_t steps_since() const { return steps_since_; }  // the last comparison
  std::int64_t repaired() const { return repaired_; }        // number of repairs

 private:
  struct UnderWay {
    std::int64_t step = 0;  // steps done when it began
    std::vector<float> values;
    Pending pending;
  };

  bool is_due() const;
  std::vector<Slice> all_vectors() const;
  void start(const std::vector<Slice>& vectors);
  Hash128 hash_of_all(const std::vector<Slice>& vectors);
  void judge(const std::vector<std::string>& hashes, std::int64_t step);  // hashes: by rank
  std::string suspicion_of_plugin() const;
  const std::string& advice(bool is_majority, bool is_loaded) const;
  void repair(int root);

  Transport& transport_;
  Device& device_;
  const ReplicatedVectors vectors_;
  const ReplicaComparisonSettings settings_;
  const std::function<void(const std::string&)> warn_;
  std::int64_t steps_since_ = 0, steps_done_ = 0, first_step_ = 0, repaired_ = 0;
  std::vector<float> copy_;  // host copy of values in device memory
  std::optional<UnderWay> under_way_;
};

}  // namespace eave
