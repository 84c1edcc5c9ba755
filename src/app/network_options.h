// The ranks of a job and the link between them: what `train` and `bench-comm` have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/devices.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

void add_transport(CommandLine& line);
std::vector<OptionSpec> link_options();  // --shape-delay, --shape-rate

// How many ranks this process shall run as threads; 0: the transport knows. Throws Error(kUsage): a wrong --ranks, or
// under an MPI launcher a transport with which each of its ranks would run by itself.
int ranks_in_process(const OptionValues& values);

// NCCL in front of `bare` where --transport auto takes it, or nullptr. `bare` must outlive it.
std::unique_ptr<Transport> make_nccl_link(Transport& bare, const OptionValues& values, const DevicePlan& device);
// The decorator that the link options ask for, or nullptr. `bare` must outlive it.
std::unique_ptr<Transport> make_shaped_link(Transport& bare, const OptionValues& values);

// --shape-rate and its like in words, with units; "" when none is given.
std::string describe_shape(const OptionValues& values);
// A sentence if a job of one rank has a shaped link, else "".
std::string describe_useless_link(const Transport& transport);

}  // namespace eave
