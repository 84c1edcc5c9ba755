// Implements `eave doctor`: collects facts about a job's ranks, judges them, and prints the findings.
#include <algorithm>
#include <cstdio>

#include "app/doctor/doctor_facts.h"
#include "app/doctor/doctor_findings.h"
#include "app/doctor/doctor_probes.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/devices.h"
#include "app/main/launch.h"
#include "app/main/machine.h"
#include "app/main/rank_consistency.h"
#include "app/options/shared_options.h"
#include "app/run/run_settings.h"
#include "base/host.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {

CommandLine doctor_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave doctor [options]\n\nChecks the ranks, hosts and network of a job as eave train "
      "would use them, and says what is wrong and what to do.");
  line.add_group(
      "Further checks",
      {{"run-dir", OptionType::kPath, ".", "directory that the job will write to"},
       {"check-images", OptionType::kFlag, "off",
        "with --data image-folder: decode all images, divided among the ranks of a host, and name the damaged ones"}});
  line.add_family("Data", {"data", OptionType::kText, "", "dataset that every host must have (default: none)"},
                  members_from(dataset_kinds()));
  add_transport(line);
  line.add_group("Device", placement_options());
  return line;
}

namespace {

void plan_job_devices(const OptionValues& values, JobFacts& job) {
  std::vector<VisibleGpus> gpus;
  for (const DoctorFacts& rank : job.ranks) gpus.push_back(rank.gpus);
  try {
    job.devices = plan_devices(values, gpus);
  } catch (const Error& error) {
    job.why_no_devices = error.what();
    job.code_without_devices = error.code();
  }
}

const SampleFiles* files_of(const OptionValues& values) {
  const auto& kinds = dataset_kinds();
  const auto kind = std::ranges::find(kinds, values.text("data"), &DatasetKind::name);
  return kind == kinds.end() ? nullptr : kind->files;
}

void check_options(const OptionValues& values) {
  if (values.flag("check-images") && files_of(values) == nullptr)
    throw Error(ExitCode::kUsage, "--check-images has no effect without --data image-folder");
}

// Collective. If the samples cannot be listed at all, opening the data reports it.
CheckedSamples check_images(Transport& transport, const std::vector<std::string>& hosts, const OptionValues& values) {
  if (!values.flag("check-images")) return {};
  try {
    return look_at_samples(transport, hosts, *files_of(values), values, [] {});
  } catch (const AgreedError&) {
    return {};
  }
}

// Collective. Collects the facts of the job; the result is the same on all ranks.
JobFacts examine(Transport& transport, const OptionValues& values) {
  const std::vector<std::string> names = transport.all_gather(host_name());
  const std::vector<std::vector<int>> hosts = ranks_by_host(names);
  const bool is_lowest =
      std::ranges::any_of(hosts, [&](const std::vector<int>& ranks) { return ranks.front() == transport.rank(); });
  JobFacts job;
  job.checked = check_images(transport, names, values);
  job.has_files = files_of(values) != nullptr;
  DoctorFacts mine;
  agree(transport, [&] { mine = find_facts(values, is_lowest && values.has("data"), job.checked.bad); });
  mine.run_directory = probe_run_directory(transport, values.text("run-dir"));
  mine.clock_ahead_s = measure_clock(transport, is_lowest && transport.rank() != 0);
  job.links = measure_links(transport, plan_links(hosts));
  for (const std::string& text : transport.all_gather(pack(mine))) job.ranks.push_back(unpack_facts(text));
  plan_job_devices(values, job);
  job.wants_nccl = values.text("transport") == "nccl";
  return job;
}

std::string device_of(const JobFacts& job, std::size_t rank) {
  if (job.devices.empty()) return "?";
  return job.devices[rank].is_cuda ? "GPU " + std::to_string(job.devices[rank].gpu) : "cpu";
}

std::string table_of(const JobFacts& job) {
  std::vector<RankFacts> ranks;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const DoctorFacts& facts = job.ranks[rank];
    ranks.push_back(
        {facts.host, device_of(job, rank), facts.cores, {}, true, {facts.group_memory_bytes, -1, facts.core_quota}});
  }
  return rank_table(ranks);
}

void doctor_on(Transport& transport, const CommandLine& line, const OptionValues& values) {
  require_same_start(transport, settings_of_rank("doctor", line, values, "run-dir"));
  const JobFacts job = examine(transport, values);
  const std::vector<Finding> findings = judge(job);
  if (transport.rank() == 0) {
    std::printf("%s\n%s", printable_lines(table_of(job)).c_str(), printable_lines(describe(findings)).c_str());
    std::fflush(stdout);
  }
  const ExitCode code = exit_code_of(findings);
  if (code != ExitCode::kDone) throw AgreedError(code, "doctor: this job has problems; the lines above say which");
}

}  // namespace

int doctor_command(const std::vector<std::string>& words, const char* const* environment) {
  const CommandLine line = doctor_command_line();
  OptionValues values;
  int ranks = 0;
  const auto read = [&] {
    values = line.parse(words, environment);
    check_options(values);
    ranks = ranks_in_process(values);
  };
  return run_command(words, line.help(), read, [&] {
    return run_ranks(values.text("transport"), ranks,
                     [&](Transport& transport) { doctor_on(transport, line, values); });
  });
}

}  // namespace eave
