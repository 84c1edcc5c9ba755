// Checks that all ranks of a job were started alike, and have the same model and data.
#pragma once

#include <map>
#include <string>

#include "eave/trainer.h"
#include "eave/transport.h"

namespace eave {

// The command and options that a rank was started with, as names and values. They must be the same on all ranks of a
// job. Empty if the rank could not read its options.
using RankSettings = std::map<std::string, std::string>;

// Identifies the program of this process: its version, and a hash of its file.
std::string program_identity();

// Collective; call it before any other collective function. mpirun can start each rank with other options, and ranks
// with different numbers of steps would wait for each other forever.
// Throws AgreedError(kConfiguration), which names what differs and on which ranks. A different eave on some host is
// named first. If a rank's settings are empty, nothing is compared, because that rank is about to fail.
void require_same_start(Transport& transport, const RankSettings& mine);

// Collective. The same for values that ranks found later. Throws AgreedError(kConfiguration) with the text "HEAD: what
// differs on which ranks. ADVICE".
void require_same(Transport& transport, const RankSettings& mine, const std::string& head, const std::string& advice);

// Collective, before training. Compares the model and the data of all ranks: counts, shapes, classes, a hash of all
// labels and of some images. Throws AgreedError(kConfiguration), which names what differs and on which ranks.
void require_same_training(Transport& transport, const Model& model, const DataSplit& data);

}  // namespace eave
