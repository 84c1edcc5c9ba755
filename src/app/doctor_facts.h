// What `eave doctor` finds out: of each rank by itself, and of all together. Nothing is judged here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/devices.h"
#include "app/sample_check.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

struct NetworkInterface {
  std::string name;
  std::string address;              // "10.0.0.7/24", IPv4
  std::int64_t megabits_per_s = 0;  // 0: it does not say
};

struct RunDirectoryFacts {
  std::string place;            // the directory, or the nearest one above it that is there
  std::string why_not_written;  // "": this rank can create files there
  bool sees_first_rank = true;  // the file that rank 0 has written there
  std::int64_t free_bytes = 0;
};

// Of one rank. Limits: -1 where there is none.
struct DoctorFacts {
  std::string host, eave_version;
  std::string mpi_library;  // "" without MPI
  bool mpi_takes_gpu_memory = false;
  std::string cores;                     // those that it may run on: "0-3"
  std::int64_t cores_of_host = 0;        // that are on line
  double core_quota = -1;                // of its control group, in cores; -1: it does not limit
  std::int64_t group_memory_bytes = -1;  // that its control group allows in all; -1: it does not limit
  std::string openmp_binding;            // openmp_binding()
  double load = 0;                       // processes that ran on the host in the last minute, on average
  VisibleGpus gpus;
  std::int64_t memory_available_bytes = 0;  // of the host, or less if its control group or ulimit -v leaves less
  std::int64_t address_space_limit_bytes = -1, locked_memory_limit_bytes = -1, open_files_limit = -1;
  bool has_rdma = false;                      // an InfiniBand or RoCE adapter
  std::vector<NetworkInterface> interfaces;   // that are up; not the loopback
  std::vector<std::string> network_settings;  // of MPI, in the environment: "btl_tcp_if_include=eth0"
  RunDirectoryFacts run_directory;
  std::string data,
      why_no_data;  // what --data holds, on the lowest rank of a host; both "": not looked at; printable lines
  ExitCode code_without_data = ExitCode::kInputMissing;
  double clock_ahead_s = 0;            // of that of rank 0, on the lowest rank of a host
  std::vector<std::string> leftovers;  // of MPI jobs that were killed
};

// Without what it takes other ranks to know: run directory and clock. `values` have the placement options, and --data
// where that is to be opened, without what is known to be bad.
DoctorFacts find_facts(const OptionValues& values, bool opens_data, const std::vector<BadSample>& bad = {});

// Between two ranks.
struct LinkTime {
  int first = 0, second = 0;
  double seconds = 0;           // of a sum of one value over both
  double bytes_per_second = 0;  // that each sends, both at the same time
};

struct JobFacts {
  std::vector<DoctorFacts> ranks;
  std::vector<LinkTime> links;
  std::vector<DevicePlan> devices;  // of each rank; empty where they cannot be had:
  std::string why_no_devices;
  ExitCode code_without_devices = ExitCode::kDone;
  bool wants_nccl = false;  // --transport nccl
  bool has_files = false;   // --data has a file for each sample
  CheckedSamples checked;   // with --check-images
};

// In the order of their lowest ranks, by name.
std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts);

std::string pack(const DoctorFacts& facts);
DoctorFacts unpack_facts(const std::string& text);

}  // namespace eave
