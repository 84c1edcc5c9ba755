// The options for ranks and links that `train` and `bench-comm` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "app/main/devices.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

void add_transport(CommandLine& line);
std::vector<OptionSpec> link_options();  // --shape-delay, --shape-rate, --shape-jitter

// How many ranks this process runs as threads; 0 if the transport decides. Throws Error(kUsage): a wrong --ranks, or a
// transport under an MPI launcher with which each process would run alone.
int ranks_in_process(const OptionValues& values);

// NCCL in front of `bare`, if --transport auto uses it; else nullptr. `bare` must outlive the result.
std::unique_ptr<Transport> make_nccl_link(Transport& bare, const OptionValues& values, const DevicePlan& device);
// The decorator that the link options ask for, or nullptr. `bare` must outlive the result.
std::unique_ptr<Transport> make_shaped_link(Transport& bare, const OptionValues& values);

// The --shape options in words, with units; "" if none is given.
std::string describe_shape(const OptionValues& values);
// A sentence if a job of one rank has a shaped link, else "".
std::string describe_useless_link(const Transport& transport);

}  // namespace eave
