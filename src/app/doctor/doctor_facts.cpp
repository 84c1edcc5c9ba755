#include "app/doctor/doctor_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "app/doctor/doctor_probes.h"
#include "app/main/machine.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/dataset.h"
#include "report/text/terminal.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t limit_of(decltype(RLIMIT_AS) resource, rlim_t rlimit::*which = &rlimit::rlim_cur) {
  rlimit limit{};
  const bool is_limited = ::getrlimit(resource, &limit) == 0 && limit.*which != RLIM_INFINITY;
  return is_limited ? static_cast<std::int64_t>(limit.*which) : -1;
}

bool has_rdma() {
  std::error_code error;
  const fs::directory_iterator adapters("/sys/class/infiniband", error);
  return !error && adapters != fs::directory_iterator();
}

std::vector<NetworkInterface> find_interfaces() {
  std::vector<NetworkInterface> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_netmask == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(), text.size());
    const auto mask = reinterpret_cast<const sockaddr_in*>(each->ifa_netmask)->sin_addr.s_addr;
    const std::string speed = first_line(fs::path("/sys/class/net") / each->ifa_name / "speed");
    found.push_back({each->ifa_name, std::string(text.data()) + "/" + std::to_string(std::popcount(mask)),
                     std::max<std::int64_t>(0, std::atoll(speed.c_str()))});
  }
  ::freeifaddrs(all);
  return found;
}

// Only these variables are collected, because an environment may hold secrets.
std::vector<std::string> find_network_settings() {
  std::vector<std::string> settings;
  for (const std::string name : {"pml", "btl", "mtl", "btl_tcp_if_include", "btl_tcp_if_exclude"}) {
    if (const char* value = std::getenv(("OMPI_MCA_" + name).c_str())) settings.push_back(name + "=" + value);
  }
  for (const char* name : {"UCX_NET_DEVICES", "UCX_TLS", "FI_PROVIDER", "MPICH_NETWORK_IFACE", "NCCL_SOCKET_IFNAME"}) {
    if (const char* value = std::getenv(name)) settings.push_back(std::string(name) + "=" + value);
  }
  return settings;
}

// A checksum that tells datasets of images of the same size apart.
std::uint32_t checksum_of_labels(const Dataset& dataset) {
  std::uint32_t sum = 2166136261U;  // FNV-1a
  for (std::int64_t i = 0; i < dataset.size(); ++i)
    sum = (sum ^ static_cast<std::uint32_t>(dataset.label(i))) * 16777619U;
  return sum;
}

std::string describe_data(const OptionValues& values, const std::vector<BadSample>& bad) {
  const DatasetKind& kind = find_kind(dataset_kinds(), values.text("data"));
  const DataSplit data = bad.empty() ? kind.open(values) : kind.files->open_without(values, bad);
  const std::string content =
      data.train->tokens() != nullptr
          ? "content " + hash_of(data.identity).text().substr(0, 16)
          : format("labels %08x-%08x", checksum_of_labels(*data.train), checksum_of_labels(*data.test));
  return kind.name +
         format(": %lld training and %s, %d classes, ", static_cast<long long>(data.train->size()),
                count_text(data.test->size(), "test sample").c_str(), data.train->classes()) +
         content + (data.note.empty() ? "" : "; " + data.note);
}

template <class Facts, class Visit>
void visit_fields(Facts& facts, Visit& visit) {
  visit(facts.host, facts.eave_version, facts.mpi_library, facts.mpi_takes_gpu_memory, facts.cores, facts.cores_of_host,
        facts.core_quota, facts.group_memory_bytes, facts.openmp_binding, facts.load, facts.memory_available_bytes,
        facts.address_space_left_bytes, facts.address_space_limit_bytes, facts.locked_memory_limit_bytes,
        facts.open_files_limit, facts.open_files_hard_limit, facts.has_rdma, facts.network_settings,
        facts.run_directory.place, facts.run_directory.why_not_written, facts.run_directory.sees_first_rank,
        facts.run_directory.free_bytes, facts.data, facts.why_no_data, facts.code_without_data, facts.clock_ahead_s,
        facts.stale_files);
}

constexpr char kEnd = '\0';  // end of a field

class Packer {
 public:
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (add(fields), ...);
  }
  std::string text;

 private:
  void add(const std::string& field) { text += field + kEnd; }
  void add(const std::vector<std::string>& fields) {
    add(static_cast<std::int64_t>(fields.size()));
    for (const std::string& field : fields) add(field);
  }
  template <class Number>
  void add(Number number) {
    add(format("%.17g", static_cast<double>(number)));
  }
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& text) : text_(text) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (take(fields), ...);
  }

 private:
  void take(std::string& field) {
    const std::size_t end = text_.find(kEnd, at_);
    EAVE_CHECK(end != std::string::npos, "facts of a rank are whole");
    field = text_.substr(at_, end - at_);
    at_ = end + 1;
  }
  void take(std::vector<std::string>& fields) {
    std::int64_t count = 0;
    take(count);
    for (std::int64_t i = 0; i < count; ++i) take(fields.emplace_back());
  }
  template <class Number>
  void take(Number& number) {
    std::string field;
    take(field);
    number = static_cast<Number>(std::atof(field.c_str()));
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

DoctorFacts find_facts(const OptionValues& values, bool opens_data, const std::vector<BadSample>& bad) {
  DoctorFacts facts;
  facts.host = host_name();
  facts.eave_version = EAVE_VERSION;
  facts.stale_files = find_stale_files(stale_file_places());
  facts.mpi_library = mpi_library();
  facts.mpi_takes_gpu_memory = mpi_takes_gpu_memory();
  facts.cores = core_binding();
  facts.cores_of_host = ::sysconf(_SC_NPROCESSORS_ONLN);
  const GroupLimits group = limiting_group();
  facts.core_quota = group.cores;
  facts.group_memory_bytes = group.memory_bytes;
  facts.openmp_binding = openmp_binding();
  facts.load = std::atof(first_line("/proc/loadavg").c_str());
  facts.gpus = find_gpus(values, facts.host);
  facts.memory_available_bytes = shared_memory_left_bytes();
  facts.address_space_left_bytes = own_address_space_left_bytes();
  facts.address_space_limit_bytes = limit_of(RLIMIT_AS);
  facts.locked_memory_limit_bytes = limit_of(RLIMIT_MEMLOCK);
  facts.open_files_limit = limit_of(RLIMIT_NOFILE);
  facts.open_files_hard_limit = limit_of(RLIMIT_NOFILE, &rlimit::rlim_max);
  facts.has_rdma = has_rdma();
  facts.interfaces = find_interfaces();
  facts.network_settings = find_network_settings();
  if (!opens_data) return facts;
  try {
    facts.data = describe_data(values, bad);
  } catch (const Error& error) {
    facts.why_no_data = message_of(error);
    facts.code_without_data = error.code();
  }
  return facts;
}

std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [place, is_new] = places.try_emplace(hosts[rank], groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(static_cast<int>(rank));
  }
  return groups;
}

std::string pack(const DoctorFacts& facts) {
  Packer packer;
  visit_fields(facts, packer);
  packer(pack(facts.gpus), static_cast<std::int64_t>(facts.interfaces.size()));
  for (const NetworkInterface& each : facts.interfaces) packer(each.name, each.address, each.megabits_per_s);
  return packer.text;
}

DoctorFacts unpack_facts(const std::string& text) {
  DoctorFacts facts;
  Unpacker unpacker(text);
  visit_fields(facts, unpacker);
  std::string gpus;
  std::int64_t interfaces = 0;
  unpacker(gpus, interfaces);
  facts.gpus = unpack_gpus(gpus);
  facts.interfaces.resize(static_cast<std::size_t>(interfaces));
  for (NetworkInterface& each : facts.interfaces) unpacker(each.name, each.address, each.megabits_per_s);
  return facts;
}

}  // namespace eave
