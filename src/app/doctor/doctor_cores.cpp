// Judges whether the ranks of a job have enough cores.
#include <map>
#include <string>

#include "app/doctor/doctor_findings.h"
#include "app/main/machine.h"
#include "base/options/number_text.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

using Bindings = std::map<std::string, std::vector<int>>;  // ranks by the cores they may use

// Describes a shortage of cores; "" if each rank has a core.
std::string describe_shortage(const HostFacts& host, int cores) {
  const auto ranks = static_cast<double>(host.ranks.size());
  const double quota = host.facts->core_quota;
  if (cores > 0 && ranks > cores) {
    return format("%.0f ranks share %s, each gets a part of one; start at most %d there, or give the job more cores",
                  ranks, count_text(cores, "core").c_str(), cores);
  }
  if (quota < 0 || ranks <= quota + 0.01) return "";
  return format("%s, and the control group allows %.1f cores; start fewer, or raise the limit of the container",
                count_text(std::ssize(host.ranks), "rank").c_str(), quota);
}

std::string describe_binding(const Bindings& bindings) {
  for (const auto& [cores, bound] : bindings) {
    if (static_cast<int>(bound.size()) <= core_count(cores)) continue;
    return name_ranks(bound) + " are bound to the same cores, " + cores +
           "; start all with one mpirun --bind-to core, or with --bind-to none";
  }
  return "";
}

// Returns whether each rank has a core.
bool judge_host(const JobFacts& job, const HostFacts& host, std::vector<Finding>& findings) {
  Bindings bindings;
  std::string all;
  for (const int rank : host.ranks) {
    const std::string& cores = job.ranks[static_cast<std::size_t>(rank)].cores;
    bindings[cores].push_back(rank);
    all += (all.empty() ? "" : ",") + cores;
  }
  const std::string where = "host " + host.facts->host + ": ";
  const std::string shortage = describe_shortage(host, core_count(all));
  const std::string binding = shortage.empty() ? describe_binding(bindings) : "";
  const std::string& cause = host.facts->openmp_binding;
  const bool lacks_cores = !shortage.empty() || !binding.empty();
  if (lacks_cores && !cause.empty() && core_count(all) < host.facts->cores_of_host) {
    findings.push_back({Severity::kProblem, "cores", where + cause, ExitCode::kConfiguration});
    return false;
  }
  // Threads of a rank would share its one core. Whether OpenMP or mpirun bound the rank cannot be told here.
  if (!lacks_cores && !cause.empty() && core_count(all) < host.facts->cores_of_host)
    findings.push_back({Severity::kNote, "cores", where + cause});
  if (!shortage.empty()) findings.push_back({Severity::kNote, "cores", where + shortage});
  if (!binding.empty()) findings.push_back({Severity::kProblem, "cores", where + binding, ExitCode::kConfiguration});
  const auto cores_of_host = static_cast<double>(host.facts->cores_of_host);
  if (host.facts->load > cores_of_host + static_cast<double>(host.ranks.size())) {
    findings.push_back({Severity::kNote, "cores",
                        where + format("%.1f processes were running on %.0f cores in the last minute; this job "
                                       "competes with others",
                                       host.facts->load, cores_of_host)});
  }
  return shortage.empty() && binding.empty();
}

}  // namespace

std::vector<Finding> judge_cores(const JobFacts& job, const std::vector<HostFacts>& hosts) {
  std::vector<Finding> findings;
  bool is_enough = true;
  for (const HostFacts& host : hosts) is_enough &= judge_host(job, host, findings);
  if (!is_enough) return findings;
  findings.push_back({Severity::kOk, "cores",
                      count_text(std::ssize(job.ranks), "rank") + " on " + count_text(std::ssize(hosts), "host") +
                          ", at least one core for each" +
                          (job.ranks.size() > 1 ? "" : "; mpirun -np P eave doctor looks at several ranks")});
  return findings;
}

}  // namespace eave
