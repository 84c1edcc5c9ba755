#include "app/doctor/doctor_findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/doctor/doctor_probes.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "data/images/bad_images.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30;

std::string gibibytes(double bytes) { return format("%.1f GiB", bytes / kGiB); }

// The values that ranks have, and which ranks: "0.1.0 on rank 0, 0.2.0 on ranks 1, 2". "" if all are equal.
template <class Value>
std::string describe_difference(const JobFacts& job, Value value) {
  std::map<std::string, std::vector<int>> groups;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank)
    groups[value(job.ranks[rank])].push_back(static_cast<int>(rank));
  if (groups.size() < 2) return "";
  std::string text;
  for (const auto& [what, ranks] : groups) text += (text.empty() ? "" : ", ") + what + " on " + name_ranks(ranks);
  return text;
}

std::string describe_few_files(const DoctorFacts& facts, std::int64_t ranks, std::int64_t needed) {
  const std::int64_t most = facts.open_files_hard_limit;
  return "ulimit -n allows " + std::to_string(facts.open_files_limit) + " open files, and " +
         count_text(ranks, "rank") + " may need " + std::to_string(needed) +
         (most < 0 || most >= needed ? "; raise it there: ulimit -n " + std::to_string(needed)
                                     : "; the hard limit there is " + std::to_string(most) +
                                           ": ask the administrator to raise it (nofile in limits.conf; in Slurm, "
                                           "LimitNOFILE of slurmd)");
}

class Judgement {
 public:
  explicit Judgement(const JobFacts& job) : job_(job), hosts_(hosts_of(job)) {}

  std::vector<Finding> findings() {
    judge_versions();
    append(judge_cores(job_, hosts_));
    judge_memory();
    judge_limits();
    judge_devices();
    append(judge_interfaces(job_, hosts_));
    append(judge_links(job_, hosts_));
    judge_run_directory();
    judge_data();
    judge_clocks();
    judge_stale_files();
    std::ranges::stable_sort(findings_, {}, &Finding::severity);
    return std::move(findings_);
  }

 private:
  void problem(const std::string& topic, const std::string& text, ExitCode code = ExitCode::kConfiguration) {
    findings_.push_back({Severity::kProblem, topic, text, code});
  }
  void problem(const std::string& topic, const std::vector<std::string>& lines, ExitCode code) {
    findings_.push_back({Severity::kProblem, topic, lines.front(), code, {lines.begin() + 1, lines.end()}});
  }
  void note(const std::string& topic, const std::string& text) { findings_.push_back({Severity::kNote, topic, text}); }
  void ok(const std::string& topic, const std::string& text) { findings_.push_back({Severity::kOk, topic, text}); }
  void append(const std::vector<Finding>& more) { findings_.insert(findings_.end(), more.begin(), more.end()); }
  bool is_well(const std::string& topic) const {
    return std::ranges::none_of(
        findings_, [&](const Finding& each) { return each.topic == topic && each.severity == Severity::kProblem; });
  }

  void judge_versions() {
    const std::string eave = describe_difference(job_, [](const DoctorFacts& rank) { return rank.eave_version; });
    const std::string mpi = describe_difference(job_, [](const DoctorFacts& rank) { return rank.mpi_library; });
    if (!eave.empty()) problem("versions", "eave is " + eave + "; install the same one on all hosts");
    if (!mpi.empty()) problem("versions", "MPI is " + mpi + "; all ranks need the same one");
    if (!is_well("versions")) return;
    const DoctorFacts& first = job_.ranks.front();
    ok("versions",
       "eave " + first.eave_version + ", " +
           (first.mpi_library.empty() ? "built without MPI: ranks are threads of one process" : first.mpi_library) +
           (job_.ranks.size() > 1 ? ", on all ranks" : ""));
  }

  // The least that a rank of the host can get. ulimit -v limits each process by itself.
  double memory_share(const HostFacts& host) const {
    double share = static_cast<double>(host.facts->memory_available_bytes) / static_cast<double>(host.ranks.size());
    for (const int rank : host.ranks) {
      const std::int64_t left = job_.ranks[static_cast<std::size_t>(rank)].address_space_left_bytes;
      if (left >= 0) share = std::min(share, static_cast<double>(left));
    }
    return share;
  }

  void judge_memory() {
    constexpr double kLeast = 256 * kMiB, kLittle = kGiB;
    double least = 1e30;
    for (const HostFacts& host : hosts_) {
      const double share = memory_share(host);
      least = std::min(least, share);
      const std::string text = "host " + host.facts->host + ": " + gibibytes(share) + " of free memory for each rank";
      if (share < kLeast) {
        problem("memory", text + "; start fewer ranks there, or end what else runs", ExitCode::kResource);
      } else if (share < kLittle) {
        note("memory", text + "; large models and data may not fit");
      }
    }
    for (const HostFacts& host : hosts_) {
      if (host.facts->group_memory_bytes < 0) continue;
      note("memory",
           "host " + host.facts->host + ": its control group allows " +
               gibibytes(static_cast<double>(host.facts->group_memory_bytes)) +
               " in all; the kernel ends what needs more (exit code 137): ask Slurm or the container for more");
    }
    const auto limited =
        std::ranges::find_if(job_.ranks, [](const DoctorFacts& rank) { return rank.address_space_limit_bytes >= 0; });
    if (limited != job_.ranks.end()) {
      note("memory", "host " + limited->host + ": ulimit -v allows a rank " +
                         gibibytes(static_cast<double>(limited->address_space_limit_bytes)) +
                         "; ulimit -v unlimited takes the limit away");
    }
    if (is_well("memory")) ok("memory", "at least " + gibibytes(least) + " free for each rank");
  }

  void judge_limits() {
    constexpr std::int64_t kOwnFiles = 64;
    constexpr double kRdmaNeeds = 64 * kMiB;
    const auto needed = static_cast<std::int64_t>(job_.ranks.size()) + kOwnFiles;
    for (const HostFacts& host : hosts_) {
      const DoctorFacts& facts = *host.facts;
      const std::string where = "host " + facts.host + ": ";
      if (facts.open_files_limit >= 0 && facts.open_files_limit < needed) {
        problem("limits", where + describe_few_files(facts, std::ssize(job_.ranks), needed), ExitCode::kResource);
      }
      const auto locked = static_cast<double>(facts.locked_memory_limit_bytes);
      if (facts.has_rdma && facts.locked_memory_limit_bytes >= 0 && locked < kRdmaNeeds) {
        problem("limits",
                where + format("it has an RDMA adapter, and ulimit -l allows %.1f MiB of locked memory, too little for "
                               "it; set it to unlimited (memlock in limits.conf; in Slurm LimitMEMLOCK of slurmd)",
                               locked / kMiB),
                ExitCode::kResource);
      }
    }
  }

  void judge_devices() {
    if (job_.devices.empty()) return problem("devices", job_.why_no_devices, job_.code_without_devices);
    const DevicePlan& first = job_.devices.front();
    const auto has_gpus = [](const DoctorFacts& rank) { return !rank.gpus.ids.empty(); };
    if (job_.wants_nccl && !(first.is_cuda && first.is_own)) judge_nccl(first);
    if (!first.is_cuda) {
      const std::string& why = first.why_not_gpu.empty() ? job_.ranks.front().gpus.why_none : first.why_not_gpu;
      const std::string text = "all ranks compute on the CPU" + (why.empty() ? "" : ": " + why);
      return std::ranges::any_of(job_.ranks, has_gpus) ? note("devices", text) : ok("devices", text);
    }
    ok("devices", first.is_own ? "each rank has a GPU of its own" : "ranks share GPUs");
    const bool is_aware = std::ranges::all_of(job_.ranks, &DoctorFacts::mpi_takes_gpu_memory);
    if (is_aware) return ok("devices", "MPI is CUDA-aware: it sends from GPU to GPU");
    const std::string through = "MPI is not CUDA-aware: what goes by MPI passes through pinned host memory";
    first.is_own ? ok("devices", through + "; sums go by NCCL where it can be set up")
                 : note("devices", through + "; with a GPU for each rank NCCL would be used");
  }

  void judge_nccl(const DevicePlan& first) {
    problem("transport",
            std::string("--transport nccl needs a GPU of its own for each rank, and ") +
                (first.is_cuda ? "ranks share GPUs" : "all ranks compute on the CPU") + "; use --transport mpi",
            ExitCode::kUsage);
  }

  void judge_run_directory() {
    constexpr double kNothing = 64 * kMiB, kLittle = 2 * kGiB;
    const RunDirectoryFacts& first = job_.ranks.front().run_directory;
    std::vector<int> without_access, unable;
    double free = 1e30;
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RunDirectoryFacts& facts = job_.ranks[rank].run_directory;
      if (!facts.sees_first_rank) {  // its own directory there does not matter
        without_access.push_back(static_cast<int>(rank));
        continue;
      }
      if (!facts.why_not_written.empty()) unable.push_back(static_cast<int>(rank));
      free = std::min(free, static_cast<double>(facts.free_bytes));
    }
    if (!without_access.empty()) {
      note("run-dir", name_ranks(without_access) + " (host " + host_of(without_access.front()) + ")" +
                          (without_access.size() == 1 ? " does" : " do") + " not see what rank 0 (host " + host_of(0) +
                          ") writes in " + first.place +
                          ": their checkpoints go through rank 0, and training waits meanwhile; in a file system that "
                          "all hosts share it need not");
    }
    if (!unable.empty()) {
      problem("run-dir",
              name_ranks(unable) + " (host " + host_of(unable.front()) + ") cannot write in " + first.place + ": " +
                  job_.ranks[static_cast<std::size_t>(unable.front())].run_directory.why_not_written,
              ExitCode::kCannotCreate);
    } else if (free < kNothing) {
      problem("run-dir", first.place + " has no space left, " + gibibytes(free), ExitCode::kInputOutput);
    } else if (free < kLittle) {
      note("run-dir",
           first.place + " has " + gibibytes(free) +
               " left; a run keeps 3 checkpoints of each rank (--keep of eave train), and one more while it saves");
    }
    if (without_access.empty() && is_well("run-dir"))
      ok("run-dir", "all ranks see and write " + first.place + ", " + gibibytes(free) + " free");
  }

  std::string host_of(int rank) const { return job_.ranks[static_cast<std::size_t>(rank)].host; }

  void judge_data() {
    std::map<std::string, std::string> hosts;  // names of hosts by the data they hold
    for (const HostFacts& host : hosts_) {
      const DoctorFacts& facts = *host.facts;
      if (!facts.why_no_data.empty()) {
        problem("data", lines_in("host " + facts.host + ": " + facts.why_no_data), facts.code_without_data);
      } else if (!facts.data.empty()) {
        std::string& names = hosts[facts.data];
        names += (names.empty() ? "" : ", ") + facts.host;
      }
    }
    if (hosts.size() > 1) {
      std::string text = "hosts have different data: ";
      for (const auto& [data, names] : hosts) text += (text.back() == ' ' ? "" : "; ") + data + " on " + names;
      problem("data", text + "; copy the same files to all");
    }
    if (!job_.checked.bad.empty())
      problem("data",
              list_bad_samples(
                  job_.checked.bad, job_.checked.looked_at,
                  "get or make them again, remove them, or train with --on-bad-image skip, which leaves them out",
                  job_.checked.bad.size()),
              ExitCode::kBadData);
    if (hosts.size() != 1 || !is_well("data")) return;
    const std::string text = hosts.begin()->first + (hosts_.size() > 1 ? ", on all hosts" : "");
    if (job_.checked.looked_at > 0) return ok("data", text + "; " + describe_check(job_.checked));
    if (job_.has_files) return note("data", text + "; images were not decoded: --check-images looks at all");
    ok("data", text);
  }

  void judge_clocks() {
    constexpr double kMuch = 0.1;
    if (hosts_.size() < 2) return;
    const auto ahead = [](const HostFacts& host) { return std::abs(host.facts->clock_ahead_s); };
    const HostFacts& worst = *std::ranges::max_element(hosts_, {}, ahead);
    if (ahead(worst) < kMuch)
      return ok("clocks", "of all hosts agree to " + decimal_text(1e3 * ahead(worst), 1) + " ms");
    note("clocks",
         format("that of host %s is %.1f s %s that of host %s: times in logs of different hosts do not fit; let "
                "chronyd or ntpd set them",
                worst.facts->host.c_str(), ahead(worst), worst.facts->clock_ahead_s > 0 ? "ahead of" : "behind",
                host_of(0).c_str()));
  }

  void judge_stale_files() {
    for (const HostFacts& host : hosts_) {
      if (!host.facts->stale_files.empty())
        note("leftovers", describe_stale_files(host.facts->host, host.facts->stale_files));
    }
  }

  const JobFacts& job_;
  const std::vector<HostFacts> hosts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string name_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > kMost) text += " and " + count_text(static_cast<std::int64_t>(ranks.size() - kMost), "other");
  return text;
}

std::vector<Finding> judge(const JobFacts& job) { return Judgement(job).findings(); }

ExitCode exit_code_of(const std::vector<Finding>& findings) {
  std::set<ExitCode> codes;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kProblem) codes.insert(finding.code);
  }
  if (codes.empty()) return ExitCode::kDone;
  return codes.size() == 1 ? *codes.begin() : ExitCode::kConfiguration;
}

std::string describe(const std::vector<Finding>& findings) {
  std::string text;
  std::map<Severity, std::int64_t> counts;
  for (const Finding& finding : findings) {
    const char* const word = finding.severity == Severity::kProblem ? "problem"
                             : finding.severity == Severity::kNote  ? "note"
                                                                    : "ok";
    ++counts[finding.severity];
    text += format("%-8s  %-9s  ", word, finding.topic.c_str()) + printable(finding.text) + "\n";
    if (!finding.more.empty()) text += joined_lines(finding.more) + "\n";
  }
  return text + "\n" + count_text(counts[Severity::kProblem], "problem") + ", " +
         count_text(counts[Severity::kNote], "note") + "\n";
}

}  // namespace eave
