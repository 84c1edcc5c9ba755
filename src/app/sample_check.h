// Looks at all samples of a set of many files before a run trains on them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eave/dataset.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

struct CheckedSamples {
  std::int64_t looked_at = 0;             // 0: the set has no such files, or only their headers are looked at
  double seconds = 0;                     // that it took; 0: an earlier look is remembered
  std::vector<BadSample> bad;             // by name
  std::vector<std::string> fingerprints;  // of the files on each host, each once
};

// Collective. Ranks of a host share the files there; all hosts look at theirs, as files may be copies. All ranks get
// the same. `moved` is called after each sample, by several threads.
CheckedSamples look_at_samples(Transport& transport, const std::vector<std::string>& hosts, const SampleFiles& files,
                               const OptionValues& values, const std::function<void()>& moved);

// Collective: the same for training, as --on-bad-image says. If rank 0's `remembered` is of the same files on all
// hosts, nobody looks again. Throws AgreedError(kBadData) with the list of all if bad ones are to be refused.
CheckedSamples check_samples(Transport& transport, const std::vector<std::string>& hosts, const OptionValues& values,
                             const CheckedSamples& remembered, const std::function<void()>& moved);

// For a checkpoint's notes, and back. Where it cannot be kept as text, nothing is noted.
std::map<std::string, std::string> notes_of(const CheckedSamples& checked);
CheckedSamples checked_in(const std::map<std::string, std::string>& notes);

// "all 500 images decoded before training (1.2 s)"; "" if none was looked at.
std::string describe_check(const CheckedSamples& checked);

}  // namespace eave
