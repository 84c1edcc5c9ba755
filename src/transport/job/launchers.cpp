#include "transport/job/launchers.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"

namespace eave {
namespace {

constexpr const char* kOwnMpirun =
    "start eave with the mpirun of the MPI that it was built with, the same on all hosts, or in Slurm with srun "
    "--mpi=pmix";
constexpr const char* kMpiTasks =
    "start them with srun --mpi=pmix, or pmi2 (srun --mpi=list says which there are), or with mpirun";
constexpr const char* kMpirunInstead =
    "it connects no ranks by MPI. Give --transport tcp --meet HOST:PORT, or start eave with mpirun; to train with one "
    "rank, give --transport loopback";
constexpr const char* kMpirunInFlux = "it connects no ranks by MPI. Give flux run -o mpi=..., or use mpirun";

// If one launcher starts processes inside another's job, the inner one comes first: mpirun before Slurm and torchrun.
constexpr std::array kLaunchers = {
    Launcher{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr,
             "PMIX_NAMESPACE", true, false, kOwnMpirun},
    Launcher{"MVAPICH2's mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", nullptr,
             nullptr, true, false, kOwnMpirun},
    Launcher{"MVAPICH's mpirun", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_LOCAL_RANK", nullptr,
             nullptr, true, false, kOwnMpirun},
    Launcher{"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", nullptr, nullptr, true,
             false, kOwnMpirun},
    // MPICH's and Intel MPI's mpiexec, srun --mpi=pmi2, flux run.
    Launcher{"a launcher that speaks PMI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", nullptr, "PMI_JOBID", true, false,
             kOwnMpirun},
    Launcher{"PALS' mpiexec", nullptr, "PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_NODEID", "PALS_APID", true, false,
             kOwnMpirun},
    Launcher{"ALPS' aprun", nullptr, "ALPS_APP_PE", nullptr, nullptr, "ALPS_APP_ID", true, false, kOwnMpirun},
    Launcher{"a launcher that speaks PMIx", nullptr, "PMIX_RANK", nullptr, nullptr, "PMIX_NAMESPACE", true, false,
             kOwnMpirun},
    // In a batch script outside srun, SLURM_STEP_NUM_TASKS is not set, whatever the size of the job.
    Launcher{"Slurm's srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_ID",
             false, false, kMpiTasks},
    Launcher{"flux run", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", nullptr, "FLUX_JOB_ID", false, false,
             kMpirunInFlux},
    Launcher{"horovodrun", "HOROVOD_SIZE", "HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_CROSS_RANK", nullptr, false,
             true, kMpirunInstead},
    Launcher{"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", "GROUP_RANK", "MASTER_PORT", false, true, kMpirunInstead},
};

bool is_meeting_named() { return std::getenv("EAVE_MEET") != nullptr; }

std::optional<int> number_in(const char* variable) {
  const char* const text = variable ? std::getenv(variable) : nullptr;
  if (!text) return std::nullopt;
  const auto number = parse_number<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// An MPI launcher is recognised by either variable. Variables of other launchers may stand in any environment, so both
// must be set.
bool is_there(const Launcher& launcher) {
  const auto size = number_in(launcher.size), rank = number_in(launcher.rank);
  return launcher.is_of_mpi ? size || rank : size && rank;
}

std::string value_of(const char* variable) {
  const char* const text = variable ? std::getenv(variable) : nullptr;
  return text ? text : "";
}

bool is_garbled(const char* variable) { return !value_of(variable).empty() && !number_in(variable); }

// The variable of the launcher that holds no number; nullptr: none. For launchers without MPI, both variables must be
// set.
const char* garbled_variable(const Launcher& launcher) {
  if (!launcher.is_of_mpi && (value_of(launcher.size).empty() || value_of(launcher.rank).empty())) return nullptr;
  return is_garbled(launcher.size) ? launcher.size : is_garbled(launcher.rank) ? launcher.rank : nullptr;
}

const Launcher* find_launcher(const auto& is_wanted) {
  const auto found = std::ranges::find_if(
      kLaunchers, [&](const Launcher& launcher) { return is_there(launcher) && is_wanted(launcher); });
  return found == kLaunchers.end() ? nullptr : &*found;
}

// The value of a variable in the environment of another process. "" if it is not set or that environment is unreadable.
std::string value_in(const std::string& environment, const char* variable) {
  const std::string begin = std::string(variable) + "=";
  for (std::size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    if (environment.compare(at, begin.size(), begin) == 0) return environment.c_str() + at + begin.size();
    if (environment.find('\0', at) == std::string::npos) break;
  }
  return "";
}

// Whether another rank of this job runs on this host. Used for launchers that do not say how many ranks they started.
bool sees_another_rank(const Launcher& launcher) {
  const std::string job = value_of(launcher.job), rank = value_of(launcher.rank);
  DIR* const processes = job.empty() || rank.empty() ? nullptr : opendir("/proc");
  if (!processes) return false;
  bool is_seen = false;
  while (const dirent* const entry = is_seen ? nullptr : readdir(processes)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    std::ifstream file("/proc/" + std::string(entry->d_name) + "/environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string other = value_in(environment, launcher.rank);
    is_seen = !other.empty() && other != rank && value_in(environment, launcher.job) == job;
  }
  closedir(processes);
  return is_seen;
}

std::pair<int, const char*> count_of(const Launcher& launcher) {
  constexpr const char* kTasks = "SLURM_STEP_NUM_TASKS";
  if (const auto size = number_in(launcher.size)) return {*size, launcher.size};
  const auto tasks = number_in(kTasks);
  if (tasks && value_of("PMIX_NAMESPACE").starts_with("slurm.")) return {*tasks, kTasks};
  const int rank = number_in(launcher.rank).value_or(0);
  if (rank == 0 && sees_another_rank(launcher)) return {2, launcher.job};
  return {rank + 1, launcher.rank};
}

PromisedRanks promise_of(const Launcher& launcher) {
  const auto [ranks, variable] = count_of(launcher);
  PromisedRanks promised;
  promised.launcher = &launcher;
  promised.ranks = ranks;
  promised.variable = variable;
  promised.rank = number_in(launcher.rank).value_or(0);
  promised.local_rank = number_in(launcher.local_rank).value_or(promised.rank);
  promised.host = number_in(launcher.host).value_or(0);
  promised.job = value_of(launcher.job);
  return promised;
}

// The promise of a launcher whose variables hold no number. If an MPI launcher tells its size properly, others do not
// count.
std::optional<PromisedRanks> garbled_promise() {
  const auto tells_size = [](const Launcher& each) { return each.is_of_mpi && number_in(each.size); };
  if (find_launcher(tells_size)) return std::nullopt;
  for (const Launcher& launcher : kLaunchers) {
    const char* const variable = garbled_variable(launcher);
    if (!variable || (!launcher.is_of_mpi && started_by_launcher())) continue;
    PromisedRanks promised = promise_of(launcher);
    promised.variable = variable;
    promised.garbled = value_of(variable);
    return promised;
  }
  return std::nullopt;
}

// Inside a Slurm job, mpirun reaches other hosts by srun with one task per host. The variables of that srun do not
// count ranks.
bool is_of_mpiruns_own_srun(const Launcher& launcher) {
  if (!launcher.size) return false;
  return launcher.size == std::string("PMI_SIZE") && is_there(kLaunchers.front()) &&
         number_in(launcher.size) == number_in("SLURM_STEP_NUM_TASKS");
}

// If another launcher tells the size, the rank of PMIx adds nothing to it.
bool tells_nothing_more(const Launcher& launcher) {
  return !launcher.size &&
         find_launcher([](const Launcher& other) { return other.is_of_mpi && number_in(other.size).has_value(); });
}

// Whether this process is the first to take the name. The kernel frees the name when the process ends.
bool takes_name(const std::string& name) {
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  name.copy(address.sun_path + 1, length);  // an abstract name, which begins with a zero byte and is no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return bind(file, reinterpret_cast<const sockaddr*>(&address), size) == 0 || errno != EADDRINUSE;
}

// If the launcher gives no name, the session and the directory stand for the job. The processes of a job usually share
// them.
std::string name_of_job(const PromisedRanks& promised) {
  if (!promised.job.empty()) return "of " + promised.job;
  std::error_code error;
  return "in " + std::to_string(getsid(0)) + " " + std::filesystem::current_path(error).string();
}

}  // namespace

std::span<const Launcher> launchers() { return kLaunchers; }

bool started_by_launcher() {
  return find_launcher([](const Launcher& launcher) { return launcher.is_of_mpi; }) != nullptr;
}

int rank_by_launcher() {
  const Launcher* const launcher = find_launcher([](const Launcher& each) {
    return number_in(each.rank) && (!each.may_be_exported || number_in(each.local_rank) || is_meeting_named());
  });
  return launcher ? *number_in(launcher->rank) : 0;
}

std::optional<PromisedRanks> promised_ranks() {
  const bool is_of_mpi = started_by_launcher();
  std::optional<PromisedRanks> largest;
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.is_of_mpi != is_of_mpi || !is_there(launcher)) continue;
    if (is_of_mpiruns_own_srun(launcher) || tells_nothing_more(launcher)) continue;
    PromisedRanks promised = promise_of(launcher);
    if (!largest || promised.ranks > largest->ranks) largest = std::move(promised);
  }
  return largest;
}

std::string resolve_transport(const std::string& name, bool has_mpi) {
  if (name != "auto") return name;
  return has_mpi ? "mpi" : is_meeting_named() ? "tcp" : "loopback";
}

std::optional<PromisedRanks> lost_ranks(const std::string& transport) {
  const auto meets = [name = resolve_transport(transport)](const TransportKind& kind) {
    return kind.name == name && kind.meets;
  };
  if (std::ranges::any_of(transport_kinds(), meets)) return std::nullopt;
  std::optional<PromisedRanks> promised = garbled_promise();
  if (!promised) {
    if (started_by_launcher()) return std::nullopt;
    promised = promised_ranks();
    if (!promised || promised->ranks <= 1) return std::nullopt;
  }
  const auto starts_ranks_itself = [&](const TransportKind& kind) {
    return kind.name == transport && !kind.is_launched;
  };
  const bool is_chosen = std::ranges::any_of(transport_kinds(), starts_ranks_itself);
  return promised->launcher->may_be_exported && is_chosen ? std::nullopt : promised;
}

std::string describe_lost(const PromisedRanks& promised, int found) {
  const Launcher& launcher = *promised.launcher;
  if (!promised.garbled.empty())
    return promised.variable + " is '" + promised.garbled + "', which is no number from 0 to 2147483647, so " +
           "nobody knows how many ranks there are: unset it, unless " + launcher.name +
           " has set it: " + launcher.advice;
  const bool is_count =
      (launcher.size && launcher.size == promised.variable) || promised.variable == "SLURM_STEP_NUM_TASKS";
  return std::string(launcher.name) + " started " + (is_count ? "" : "at least ") + count_text(promised.ranks, "rank") +
         " (" + promised.variable + "), but " + (launcher.is_of_mpi ? "MPI" : "eave") + " finds " +
         std::to_string(found) + ": " + launcher.advice;
}

bool speaks_for_host(const PromisedRanks& promised, const std::string& occasion) {
  constexpr std::chrono::milliseconds kFirstNeeds{300};
  if (!promised.launcher->is_of_mpi && promised.host > 0) return false;
  if (promised.rank != 0 && promised.local_rank != 0) std::this_thread::sleep_for(kFirstNeeds);
  return takes_name("eave " + std::to_string(getuid()) + " " +
                    hash_of(promised.launcher->name + name_of_job(promised) + occasion).text());
}

}  // namespace eave
