// Checks all samples of a dataset with many files before a run trains on them.
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
  std::int64_t looked_at = 0;             // 0: the dataset has no such files, or is not checked before training
  double seconds = 0;                     // time of the check; 0: the result is an earlier check's
  std::vector<BadSample> bad;             // by name
  std::vector<std::string> fingerprints;  // of the files on each host, without duplicates
};

// Collective. The ranks of a host share the files there. Each host checks its own files, which may be copies. The
// result is the same on all ranks. `moved` is called after each sample, by several threads.
CheckedSamples look_at_samples(Transport& transport, const std::vector<std::string>& hosts, const SampleFiles& files,
                               const OptionValues& values, const std::function<void()>& moved);

// Collective. The same for a training, as --on-bad-image says. If rank 0's `remembered` covers the same files on all
// hosts, the files are not checked again. Throws AgreedError(kBadData) with a list of all bad samples if they are to be
// refused.
CheckedSamples check_samples(Transport& transport, const std::vector<std::string>& hosts, const OptionValues& values,
                             const CheckedSamples& remembered, const std::function<void()>& moved);

// Opens the dataset that --data names, without the bad samples, holds out --validation-share, and sets the identity.
DataSplit open_data_of_run(const OptionValues& values, const CheckedSamples& checked);

// Converts the result to a checkpoint's notes and back. If the names cannot be kept as text, there are no notes.
std::map<std::string, std::string> notes_of(const CheckedSamples& checked);
CheckedSamples checked_in(const std::map<std::string, std::string>& notes);

// "499 of 500 images are whole (decoded in 1.2 s)"; "" if no image was checked.
std::string describe_check(const CheckedSamples& checked);

}  // namespace eave
