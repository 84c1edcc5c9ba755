#include "transport/mpi/mpi_job.h"

#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "eave/agreement.h"
#include "eave/job.h"
#include "transport/core/background_transport.h"
#include "transport/core/failure.h"
#include "transport/job/job_timeouts.h"
#include "transport/job/launchers.h"
#include "transport/mpi/mpi_control.h"
#include "transport/mpi/mpi_library.h"
#include "transport/mpi/mpi_wire.h"

namespace eave {
namespace {

// Collective over `communicator`. For each rank, the lowest rank that it shares memory with.
std::vector<int> hosts_of_ranks(MPI_Comm communicator) {
  int rank = 0, size = 0, lowest = 0;
  EAVE_MPI(MPI_Comm_rank(communicator, &rank));
  EAVE_MPI(MPI_Comm_size(communicator, &size));
  MPI_Comm host = MPI_COMM_NULL;
  EAVE_MPI(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  EAVE_MPI(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, host));
  EAVE_MPI(MPI_Comm_free(&host));
  std::vector<int> hosts(static_cast<std::size_t>(size));
  EAVE_MPI(MPI_Allgather(&lowest, 1, MPI_INT, hosts.data(), 1, MPI_INT, communicator));
  return hosts;
}

// Under the launcher of another MPI, each process believes that it is the only rank of its own job. Often this happens
// to all ranks. If only one host has another MPI, it happens there, and the other ranks wait. So one rank of each host
// prints it. All ranks stay for a while, because the first to end makes the launcher end all.
void check_size(int size, const std::optional<PromisedRanks>& promised) {
  constexpr std::chrono::seconds kSpeakerNeeds{2}, kOthersNeed{1};
  if (!promised || promised->ranks <= size) return;
  const std::string text = describe_lost(*promised, size);
  const bool speaks = speaks_for_host(*promised);
  if (speaks) {
    wait_for_turn(promised->rank);
    print_failure({ExitCode::kPeerLost, text, false}, promised->rank, promised->ranks);
  }
  std::this_thread::sleep_for(speaks ? kOthersNeed : kSpeakerNeeds);
  throw AgreedError(ExitCode::kPeerLost, text);
}

// Ends this process when its launcher dies: such a job can be neither ended nor finished. If the launcher died before
// this call, MPI_Init does not find it.
void end_with_launcher() {
  if (!started_by_launcher()) return;
  const pid_t launcher = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) std::_Exit(static_cast<int>(ExitCode::kPeerLost));
}

const char* name_of_level(int level) {
  return level == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
         : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SERIALIZED";
}

// Collective over all ranks of MPI. If a program has called MPI_Init itself, its threads call MPI too, so eave's
// threads need MPI_THREAD_MULTIPLE. The first rank that lacks it prints the message for the job, before any rank ends.
void require_threads(bool is_own, int provided) {
  int rank = 0, size = 0, first = 0;
  EAVE_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  EAVE_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int mine = is_own || provided >= MPI_THREAD_MULTIPLE ? size : rank;
  EAVE_MPI(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (first == size) return;
  const std::string text = std::string("this program has initialised MPI by itself with ") + name_of_level(provided) +
                           ", and eave calls MPI in threads of its own: ask for MPI_THREAD_MULTIPLE, by "
                           "MPI_Init_thread in place of MPI_Init, or in mpi4py by mpi4py.rc.thread_level = "
                           "\"multiple\" before it imports MPI; or leave MPI_Init to eave";
  if (rank == first) print_failure({ExitCode::kUsage, text, false}, rank, size);
  EAVE_MPI(MPI_Barrier(MPI_COMM_WORLD));
  throw AgreedError(ExitCode::kUsage, text);
}

int end_process(MPI_Comm, int, void* is_over, void*) {
  if (*static_cast<const bool*>(is_over)) return MPI_SUCCESS;
  const int rank = rank_by_launcher();
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(2));  // rank 0 ends the job, if it calls this too
  print_failure({ExitCode::kUsage,
                 "this program calls MPI_Finalize while eave still uses MPI: call eave_stop on all ranks before it, in "
                 "Python eave.stop()",
                 false},
                rank, 2);
  std::_Exit(static_cast<int>(ExitCode::kUsage));
}

// While it lives, MPI_Finalize ends this process with kUsage and a message that says what to call first. Without it the
// process would crash in eave's threads or at its exit. MPI deletes the attributes of MPI_COMM_SELF before all else
// that MPI_Finalize does (MPI 4.0, section 11.2.4).
class FinalizeGuard {
 public:
  FinalizeGuard();
  ~FinalizeGuard();
  FinalizeGuard(const FinalizeGuard&) = delete;

 private:
  bool is_over_ = false;  // the value of the attribute points here
  int key_ = MPI_KEYVAL_INVALID;
};

FinalizeGuard::FinalizeGuard() {
  EAVE_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_process, &key_, nullptr));
  EAVE_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key_, &is_over_));
}

FinalizeGuard::~FinalizeGuard() {
  is_over_ = true;
  if (!mpi_is_running()) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

// One use of MPI, from MPI_Init to MPI_Finalize; the same thread calls start and finish. If the program called MPI_Init
// itself, it also calls MPI_Finalize.
class MpiSession {
 public:
  void start(std::chrono::milliseconds limit) {
    end_with_launcher();
    const std::optional<PromisedRanks> promised = promised_ranks();
    int provided = MPI_THREAD_SINGLE, size = 0, is_of_others = 0, is_over = 0;
    EAVE_MPI(MPI_Initialized(&is_of_others));
    EAVE_MPI(MPI_Finalized(&is_over));
    if (is_over)
      throw Error(ExitCode::kUsage,
                  "this program has called MPI_Finalize, after which a process cannot use MPI again: begin the job of "
                  "eave (eave_start, in Python eave.start()) before it");
    is_own_ = !is_of_others;
    if (is_own_) {
      const StartTimeout watch(promised, limit);
      EAVE_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
      EAVE_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    } else {
      EAVE_MPI(MPI_Query_thread(&provided));
      finalize_guard_.emplace();
    }
    require_threads(is_own_, provided);
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error(
          ExitCode::kResource,
          "this MPI does not let a thread other than the first call it (MPI_THREAD_SERIALIZED): use an MPI that "
          "was built with threads");
    EAVE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_));
    EAVE_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    EAVE_MPI(MPI_Comm_size(communicator_, &size));
    check_size(size, promised);
    if (size > 1) control_.emplace(communicator_, in_mpi_);
  }
  // Collective. `code`: the job's exit code.
  void finish(int code) {
    EndTimeout limit(rank_by_launcher(), code);
    limit.enter("MPI_Alltoall, after which the ranks part,");
    if (control_) control_->close();
    EAVE_MPI(MPI_Comm_free(&communicator_));
    finalize_guard_.reset();
    limit.enter("MPI_Finalize");
    if (is_own_) EAVE_MPI(MPI_Finalize());
  }
  MPI_Comm communicator() const { return communicator_; }
  ControlChannel* control() { return control_ ? &*control_ : nullptr; }
  const std::shared_ptr<std::mutex>& in_mpi() const { return in_mpi_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool is_own_ = true;
  const std::shared_ptr<std::mutex> in_mpi_ = std::make_shared<std::mutex>();
  std::optional<MpiControl> control_;
  std::optional<FinalizeGuard> finalize_guard_;  // if the program calls MPI_Finalize
};

}  // namespace

int run_mpi_job(const std::function<void(Transport&)>& body, const MpiUse& use) {
  int code = 0;
  const int rank = rank_by_launcher();
  const std::optional<Failure> failure = failure_of([&] {
    MpiSession session;
    session.start(use.start_limit);
    {
      // hosts_of_ranks is collective, so it is called in any case. Ranks that were started with different options find
      // that out later, together.
      MpiWireSettings settings{
          .name = use.name, .hosts = hosts_of_ranks(session.communicator()), .sums_by_host = use.sums_by_host};
      settings.control = session.control();
      settings.takes_gpu_memory = use.gpu_messages && mpi_takes_gpu_memory();
      BackgroundTransport transport(
          std::make_unique<MpiWire>(session.communicator(), std::move(settings), session.in_mpi()));
      code = run_rank(transport, body);
    }
    session.finish(code);
  });
  if (!failure) return code;
  if (!failure->agreed) {  // an agreed failure is printed already
    wait_for_turn(rank);
    print_failure(*failure, rank, 2);
  }
  // Not by return: a regular end of MPI would wait for the other ranks, which wait for this one.
  std::_Exit(static_cast<int>(failure->code));
}

}  // namespace eave
