#include "app/main/launch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "base/files/files.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/start_thread.h"
#include "transport/core/failure.h"
#include "transport/job/launchers.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr std::size_t kMostDifferences = 4;             // most differences named in one message
constexpr std::chrono::milliseconds kOthersNeed{1000};  // time for other ranks to get as far as this one
constexpr std::size_t kLargestProgram = std::size_t{1} << 30;

std::string pack(const Intent& intent) {
  std::string text;
  for (const auto& [name, value] : intent) text += name + '\0' + value + '\0';
  return text;
}

Intent unpack_intent(const std::string& text) {
  Intent intent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t name_end = text.find('\0', at), value_end = text.find('\0', name_end + 1);
    intent[text.substr(at, name_end - at)] = text.substr(name_end + 1, value_end - name_end - 1);
    at = value_end + 1;
  }
  return intent;
}

const std::string& value_in(const Intent& intent, const std::string& name) {
  static const std::string kNotSet = "not set";
  const auto found = intent.find(name);
  return found == intent.end() ? kNotSet : found->second;
}

// " (node2, node3)" in a job on several hosts; else "".
std::string name_hosts(const std::vector<std::size_t>& ranks, const std::vector<std::string>& hosts) {
  if (std::ranges::all_of(hosts, [&](const std::string& host) { return host == hosts.front(); })) return "";
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const std::size_t rank : ranks) {
    if (std::ranges::find(names, hosts[rank]) == names.end()) names.push_back(hosts[rank]);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? " (" : ", ") + names[i];
  return text + (names.size() > kMost ? ", ...)" : ")");
}

// "--lr is 0.1 on rank 0, 0.2 on ranks 1, 2"
std::string describe_difference(const std::string& name, const std::vector<Intent>& of_ranks,
                                const std::vector<std::string>& hosts) {
  // Ranks by value, the value of the lowest rank first.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::string& value = value_in(of_ranks[rank], name);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& each) { return each.first == value; });
    if (group == groups.end()) group = groups.insert(group, {value, {}});
    group->second.push_back(rank);
  }
  std::string text;
  for (const auto& [value, ranks] : groups) {
    text += (text.empty() ? name + " is " : ", ") + value + (ranks.size() == 1 ? " on rank" : " on ranks");
    for (const std::size_t rank : ranks) text += (rank == ranks.front() ? " " : ", ") + std::to_string(rank);
    text += name_hosts(ranks, hosts);
  }
  return text;
}

// Describes names that all ranks have with different values, a different eave first. Only if there are none, describes
// names that some ranks lack: the former explain the latter.
std::vector<std::string> describe_differences(const std::vector<Intent>& of_ranks,
                                              const std::vector<std::string>& hosts) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : of_ranks.front()) {
    const auto has_it = [&](const Intent& intent) { return intent.contains(name); };
    const auto differs = [&](const Intent& intent) { return value_in(intent, name) != value; };
    if (std::all_of(of_ranks.begin(), of_ranks.end(), has_it) &&
        std::any_of(of_ranks.begin(), of_ranks.end(), differs)) {
      differences.push_back(describe_difference(name, of_ranks, hosts));
    }
  }
  const auto of_program =
      std::ranges::find_if(differences, [](const auto& each) { return each.starts_with("eave is "); });
  if (of_program != differences.end()) std::rotate(differences.begin(), of_program, of_program + 1);
  if (!differences.empty()) return differences;
  std::set<std::string> names;
  for (const Intent& intent : of_ranks) {
    for (const auto& [name, value] : intent) names.insert(name);
  }
  for (const std::string& name : names) {
    if (std::any_of(of_ranks.begin(), of_ranks.end(), [&](const Intent& intent) { return !intent.contains(name); }))
      differences.push_back(describe_difference(name, of_ranks, hosts));
  }
  return differences;
}

// The differences on one line, at most kMostDifferences of them.
std::string name_differences(const std::vector<Intent>& of_ranks, const std::vector<std::string>& hosts) {
  const std::vector<std::string> differences = describe_differences(of_ranks, hosts);
  std::string text;
  for (std::size_t i = 0; i < std::min(differences.size(), kMostDifferences); ++i) {
    text += (i == 0 ? "" : "; ") + differences[i];
  }
  if (differences.size() <= kMostDifferences) return text;
  return text + "; and " + std::to_string(differences.size() - kMostDifferences) + " more";
}

bool are_comparable(const std::vector<std::string>& hashes) {
  return std::ranges::none_of(hashes, [](const std::string& hash) { return hash.empty(); });
}

bool are_alike(const std::vector<std::string>& hashes) {
  return std::ranges::all_of(hashes, [&](const std::string& hash) { return hash == hashes.front(); });
}

// Ends ranks that cannot find each other. Each would take itself for the only rank, and all would write the same files.
// A launcher may send SIGTERM to all once one has ended. So each waits until the others are here, and ignores SIGTERM,
// which would change its exit code.
int refuse_lost_ranks(const PromisedRanks& lost) {
  const auto end = std::chrono::steady_clock::now() + kOthersNeed;
  std::signal(SIGTERM, SIG_IGN);
  if (speaks_for_host(lost)) print_failure({ExitCode::kPeerLost, describe_lost(lost, 1), true}, 0, 1);
  std::this_thread::sleep_until(end);
  return static_cast<int>(ExitCode::kPeerLost);
}

// Limits the time in which ranks meet to end together. If the others never come, as when a script calls eave on one
// rank alone, this rank prints the error itself and ends.
class MeetingLimit {
 public:
  explicit MeetingLimit(const std::exception_ptr& failure) {
    if (!started_by_launcher()) return;
    thread_ = start_thread("to end without the others", [this, failure] { watch(describe_failure(failure)); });
  }
  MeetingLimit(const MeetingLimit&) = delete;
  MeetingLimit& operator=(const MeetingLimit&) = delete;
  ~MeetingLimit() {
    have_met();
    if (thread_.joinable()) thread_.join();
  }
  void have_met() {
    const std::lock_guard lock(mutex_);
    have_met_ = true;
    changed_.notify_one();
  }

 private:
  void watch(const Failure& failure) {
    constexpr std::chrono::seconds kPatience{5};
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [this] { return have_met_; })) return;
    print_failure(failure, rank_by_launcher(), 2);
    std::_Exit(static_cast<int>(failure.code));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool have_met_ = false;
  std::thread thread_;
};

const TransportKind& loopback() {
  return *std::ranges::find(transport_kinds(), std::string("loopback"), &TransportKind::name);
}

bool asks_for_help(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body) {
  if (const auto lost = lost_ranks(transport)) return refuse_lost_ranks(*lost);
  const std::vector<TransportKind>& kinds = transport_kinds();
  const auto find = [&](const std::string& name) {
    return std::find_if(kinds.begin(), kinds.end(), [&](const TransportKind& kind) { return kind.name == name; });
  };
  auto kind = find(transport == "auto" ? (started_by_launcher() ? "mpi" : "loopback") : transport);
  if (kind == kinds.end()) {
    return loopback().run(1, [](Transport&) {
      throw Error(ExitCode::kPeerLost,
                  "started by an MPI launcher, but this eave was built without MPI; install "
                  "libopenmpi-dev and build again, or run without a launcher");
    });
  }
  return kind->run(ranks, body);
}

void refuse_launcher(const std::string& transport) {
  const auto is_launched = [&](const auto& kind) { return kind.is_launched && kind.name == transport; };
  if (transport == "auto" || std::ranges::any_of(transport_kinds(), is_launched) || !started_by_launcher()) return;
  throw Error(ExitCode::kUsage, "--transport " + transport +
                                    " under an MPI launcher: each of its ranks would run by itself; leave out "
                                    "--transport, or start eave without the launcher");
}

int run_once(const std::function<void()>& action) {
  if (rank_by_launcher() != 0) return 0;
  return loopback().run(1, [&](Transport&) { action(); });
}

int refuse_once(const std::exception_ptr& failure) {
  const auto rethrow = [&] { std::rethrow_exception(failure); };
  if (rank_by_launcher() == 0) return run_once(rethrow);
  // When the first process ends, a launcher may kill all others, also the one that prints the message.
  std::this_thread::sleep_for(kOthersNeed);
  return static_cast<int>(describe_failure(failure).code);
}

int refuse_to_run(const std::exception_ptr& failure) {
  MeetingLimit limit(failure);
  return run_ranks("auto", 0, [&](Transport& transport) {
    limit.have_met();
    require_same_intent(transport, {});
    agree(transport, [&] { std::rethrow_exception(failure); });
  });
}

std::string program_identity() {
  static const std::string kIdentity = [] {
    std::string build = "unknown";
    try {
      build = hash_of(read_file("/proc/self/exe", kLargestProgram)).text().substr(0, 16);
    } catch (const Error&) {
      // /proc is not available here.
    }
    return "version " EAVE_VERSION ", file " + build;
  }();
  return kIdentity;
}

void require_same_intent(Transport& transport, const Intent& mine) {
  Intent all = mine;
  if (!mine.empty()) {
    all["eave"] = program_identity();
    all["MPI"] = mpi_library();
  }
  require_same(transport, all, "the ranks were started differently",
               "Start all with the same program, command, options and environment");
}

void require_same(Transport& transport, const Intent& mine, const std::string& head, const std::string& advice) {
  const std::vector<std::string> hashes = transport.gather(mine.empty() ? "" : hash_of(pack(mine)).text());
  if (transport.broadcast_text(are_comparable(hashes) && !are_alike(hashes) ? "differ" : "").empty()) return;
  std::vector<Intent> of_ranks;
  for (const std::string& text : transport.gather(pack(mine))) of_ranks.push_back(unpack_intent(text));
  const std::vector<std::string> hosts = transport.gather(host_name());
  let_first_judge(transport, [&] {
    throw Error(ExitCode::kConfiguration, head + ": " + name_differences(of_ranks, hosts) + ". " + advice);
  });
}

int run_command(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                const std::function<int()>& run) {
  if (asks_for_help(words)) return run_once([&] { std::fputs(help.c_str(), stdout); });
  try {
    read();
  } catch (const Error&) {
    return refuse_to_run(std::current_exception());
  }
  return run();
}

int run_command_once(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                     const std::function<void()>& action) {
  if (asks_for_help(words)) return run_once([&] { std::fputs(help.c_str(), stdout); });
  try {
    read();
  } catch (const Error&) {
    return refuse_once(std::current_exception());
  }
  return run_once(action);
}

}  // namespace eave
