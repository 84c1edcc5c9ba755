// Options that several commands share, and what is made of them.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "app/main/devices.h"
#include "eave/exchange_pattern.h"
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
// A sentence if a job has a shaped link, and one rank or a method that exchanges nothing; else "".
std::string describe_useless_link(const Transport& transport, ExchangePattern exchanges);

// Throws Error(kUsage) if two of these options name the same file, or if one names a file of a run, which would be
// overwritten.
void check_output_options(const OptionValues& values, std::initializer_list<const char*> options);
// The stream for tables and other text for people: standard error if the option names standard output, which then
// holds only what programs read. Standard output otherwise.
std::FILE* text_stream(const OptionValues& values, const std::string& option);

// Throws Error(kUsage) if --run-dir, --checkpoint-dir or --stage-to is where image-folder looks for class folders, or
// text for files: later runs would take it for a class, or train on its files.
void refuse_output_among_data(const OptionValues& values);

}  // namespace eave
