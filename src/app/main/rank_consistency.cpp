#include "app/main/rank_consistency.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/input_file.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr std::size_t kMostDifferences = 4;  // most differences named in one message
constexpr std::size_t kLargestProgram = std::size_t{1} << 30;

std::string pack(const RankSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += name + '\0' + value + '\0';
  return text;
}

RankSettings unpack_settings(const std::string& text) {
  RankSettings settings;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t name_end = text.find('\0', at), value_end = text.find('\0', name_end + 1);
    settings[text.substr(at, name_end - at)] = text.substr(name_end + 1, value_end - name_end - 1);
    at = value_end + 1;
  }
  return settings;
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
std::string describe_difference(const std::string& name, const std::vector<RankSettings>& of_ranks,
                                const std::vector<std::string>& hosts) {
  // Ranks by value, the value of the lowest rank first.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::string value = setting_in(of_ranks[rank], name, "not set");
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
std::vector<std::string> describe_differences(const std::vector<RankSettings>& of_ranks,
                                              const std::vector<std::string>& hosts) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : of_ranks.front()) {
    const auto has_it = [&](const RankSettings& settings) { return settings.contains(name); };
    const auto differs = [&](const RankSettings& settings) { return setting_in(settings, name, "not set") != value; };
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
  for (const RankSettings& settings : of_ranks) {
    for (const auto& [name, value] : settings) names.insert(name);
  }
  for (const std::string& name : names) {
    if (std::any_of(of_ranks.begin(), of_ranks.end(),
                    [&](const RankSettings& settings) { return !settings.contains(name); }))
      differences.push_back(describe_difference(name, of_ranks, hosts));
  }
  return differences;
}

// The differences on one line, at most kMostDifferences of them.
std::string name_differences(const std::vector<RankSettings>& of_ranks, const std::vector<std::string>& hosts) {
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

// Samples of each set to hash, evenly spaced. Reading them takes a small part of the first step's reading.
constexpr std::int64_t kSamplesLookedAt = 64;

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string content_of_text(const TokenDataset& text) {
  Hasher hasher;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(text.context()) + 1);
  const std::int64_t windows = std::min(kSamplesLookedAt, text.size());
  for (std::int64_t i = 0; i < windows; ++i) {
    text.read_tokens(i * text.size() / windows, tokens);
    hasher.add(bytes_of(tokens));
  }
  return hasher.hash().text().substr(0, 16);
}

std::string content_of(const Dataset& data) {
  if (data.tokens() != nullptr) return content_of_text(*data.tokens());
  Hasher hasher;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(data.size()));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = data.label(static_cast<std::int64_t>(i));
  hasher.add(bytes_of(labels));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(data.shape().size()));
  const std::int64_t images = std::min(kSamplesLookedAt, data.size());
  for (std::int64_t i = 0; i < images; ++i) {
    data.read(i * data.size() / images, pixels);
    hasher.add(bytes_of(pixels));
  }
  return hasher.hash().text().substr(0, 16);
}

void add_data(RankSettings& facts, const std::string& name, const Dataset& data) {
  const ImageShape shape = data.shape();
  facts["size of " + name] = count_text(data.size(), data.tokens() == nullptr ? "image" : "window");
  facts["shape of " + name] =
      std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " + std::to_string(shape.channels);
  facts["classes of " + name] = std::to_string(data.classes());
  facts["content of " + name] = content_of(data);
}

RankSettings facts_of(const Model& model, const DataSplit& data) {
  RankSettings facts{{"model", hash_of(model.summary()).text().substr(0, 16)},
                     {"parameters of the model", std::to_string(model.parameter_size())}};
  add_data(facts, "the training set", *data.train);
  add_data(facts, "the test set", *data.test);
  facts["names and labels of the data"] = data.identity;
  return facts;
}

}  // namespace

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

void require_same_start(Transport& transport, const RankSettings& mine) {
  RankSettings all = mine;
  if (!mine.empty()) {
    all["eave"] = program_identity();
    all["MPI"] = mpi_library();
  }
  require_same(transport, all, "the ranks were started differently",
               "Start all with the same program, command, options and environment");
}

void require_same(Transport& transport, const RankSettings& mine, const std::string& head, const std::string& advice) {
  const std::vector<std::string> hashes = transport.gather(mine.empty() ? "" : hash_of(pack(mine)).text());
  if (transport.broadcast_text(are_comparable(hashes) && !are_alike(hashes) ? "differ" : "").empty()) return;
  std::vector<RankSettings> of_ranks;
  for (const std::string& text : transport.gather(pack(mine))) of_ranks.push_back(unpack_settings(text));
  const std::vector<std::string> hosts = transport.gather(host_name());
  let_first_judge(transport, [&] {
    throw Error(ExitCode::kConfiguration, head + ": " + name_differences(of_ranks, hosts) + ". " + advice);
  });
}

void require_same_training(Transport& transport, const Model& model, const DataSplit& data) {
  RankSettings facts;
  agree(transport, [&] { facts = facts_of(model, data); });
  require_same(transport, facts, "the ranks do not train the same",
               "Give all the same data and the same program; eave doctor looks at each host");
}

}  // namespace eave
