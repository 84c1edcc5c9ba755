// The facts that `eave doctor` collects, of each rank and of all ranks together. doctor_findings.h judges them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/main/devices.h"
#include "app/run/sample_check.h"
#include "eave/options.h"

namespace eave {

struct NetworkInterface {
  std::string name;
  std::string address;              // "10.0.0.7/24", IPv4
  std::int64_t megabits_per_s = 0;  // 0: not known
};

struct RunDirectoryFacts {
  std::string place;            // the directory, or its nearest parent that exists
  std::string why_not_written;  // "" if this rank can create files there
  bool sees_first_rank = true;  // whether this rank sees the file that rank 0 wrote there
  std::int64_t free_bytes = 0;
};

// The facts of one rank. A limit of -1 means that there is none.
struct DoctorFacts {
  std::string host, eave_version;
  std::string mpi_library;  // "" without MPI
  bool mpi_takes_gpu_memory = false;
  std::string cores;                     // cores that it may run on: "0-3"
  std::int64_t cores_of_host = 0;        // cores that are online
  double core_quota = -1;                // limit of its control group, in cores; -1: none
  std::int64_t group_memory_bytes = -1;  // limit of its control group; -1: none
  std::string openmp_binding;            // result of openmp_binding()
  double load = 0;                       // mean number of processes that ran on the host in the last minute
  VisibleGpus gpus;
  std::int64_t memory_available_bytes = 0;  // of the host, for all ranks there; less if the control group leaves less
  std::int64_t address_space_left_bytes = -1;  // what ulimit -v leaves this rank; -1: no limit
  std::int64_t address_space_limit_bytes = -1, locked_memory_limit_bytes = -1, open_files_limit = -1;
  std::int64_t open_files_hard_limit = -1;   // as far as a process may raise the one before
  bool has_rdma = false;                     // an InfiniBand or RoCE adapter
  std::vector<NetworkInterface> interfaces;  // interfaces that are up, without loopback
  // Settings of MPI and of network libraries in the environment: "btl_tcp_if_include=eth0".
  std::vector<std::string> network_settings;
  RunDirectoryFacts run_directory;
  // The content of --data, or why it cannot be opened, in printable lines. Set on the lowest rank of a host. Both are
  // "" if
  // --data was not opened.
  std::string data, why_no_data;
  ExitCode code_without_data = ExitCode::kInputMissing;
  double clock_ahead_s = 0;              // seconds ahead of rank 0's clock; set on the lowest rank of a host
  std::vector<std::string> stale_files;  // shell patterns of files that killed MPI jobs left
};

// Collects the facts that need no other rank: all but the run directory and the clock. `values` must have the placement
// options and, with `opens_data`, --data. `bad` are samples known to be bad, which are left out.
DoctorFacts find_facts(const OptionValues& values, bool opens_data, const std::vector<BadSample>& bad = {});

// Times measured between two ranks.
struct LinkTime {
  int first = 0, second = 0;
  double seconds = 0;           // of a sum of one value over both ranks
  double bytes_per_second = 0;  // that each rank sends, both at the same time
};

struct JobFacts {
  std::vector<DoctorFacts> ranks;
  std::vector<LinkTime> links;
  std::vector<DevicePlan> devices;  // of each rank; empty if why_no_devices is set
  std::string why_no_devices;
  ExitCode code_without_devices = ExitCode::kDone;
  bool wants_nccl = false;  // --transport nccl
  bool has_files = false;   // --data is a set with a file for each sample
  CheckedSamples checked;   // result of --check-images
};

// The ranks of each host, given the host name of each rank. Hosts are in the order of their lowest ranks.
std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts);

std::string pack(const DoctorFacts& facts);
DoctorFacts unpack_facts(const std::string& text);

}  // namespace eave
