// One training, from its options to its results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/sample_check.h"
#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

// How a training stands in what this process does.
struct TrainingPlace {
  // It does not speak, and where it diverges it ends on all ranks by AgreedError, so that they can go on to another.
  bool is_part = false;
  std::filesystem::path output = {};             // of a part: the comparison's directory, in which eave chose --run-dir
  std::vector<std::string>* warnings = nullptr;  // of a part, where rank 0's go
  CheckedSamples* checked = nullptr;             // of a part: what the one before has found, and what this one finds
  std::int64_t rollbacks = 0;                    // so often it went back to a checkpoint, which it begins from
};

// Collective, the same options on all ranks of `bare`: trains, and leaves what --run-dir is to hold. Rank 0 prints the
// card, warnings and the result. Returns the totals, on all ranks. Throws Error.
RunSummary run_training(Transport& bare, const CommandLine& line, const OptionValues& values,
                        const TrainingPlace& place = {});

}  // namespace eave
