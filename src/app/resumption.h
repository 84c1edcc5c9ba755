// --resume: what a training goes on from.
#pragma once

#include <cstdint>
#include <optional>

#include "app/command_line.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "train/checkpoint_load.h"

namespace eave {

struct Resumption {
  FoundCheckpoint found;
  bool is_elastic = false;  // it is of another number of ranks
  bool has_ended = false;   // the run's summary is there
};

inline bool may_resume(const OptionValues& values) { return values.text("resume") != "off"; }

// Collective. Nothing: the training begins anew. Throws AgreedError: kInputMissing where it must go on and there is no
// checkpoint, kBadData where none is whole.
std::optional<Resumption> find_resumption(Transport& transport, const OptionValues& values);

// Collective: with --resume auto, whether the run was trained to the end that is asked for. Rank 0 says so.
bool has_nothing_to_do(Transport& transport, const CommandLine& line, const OptionValues& values);

}  // namespace eave
