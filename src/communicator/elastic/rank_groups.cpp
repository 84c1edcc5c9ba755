#include "communicator/elastic/rank_groups.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr const char* kForms = "expected hosts, a number of groups, or a list such as 0-3,4-7 or 0+2,1+3";

std::string last_of(int ranks) { return "ranks are 0 to " + std::to_string(ranks - 1); }

std::optional<int> whole_number(const std::string& text) {
  const std::optional<std::int64_t> value = read_integer(text).value;
  if (!value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

RankGroups groups_by_host(int ranks, const std::vector<std::string>& hosts) {
  EAVE_CHECK(hosts.empty() || static_cast<int>(hosts.size()) == ranks, "every rank has a host");
  RankGroups groups;
  std::map<std::string, std::size_t> places;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string host = hosts.empty() ? "" : hosts[static_cast<std::size_t>(rank)];
    const std::size_t place = places.try_emplace(host, places.size()).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(rank);
  }
  return groups;
}

RankGroups equal_groups(int count, int ranks) {
  RankGroups groups(static_cast<std::size_t>(count));
  for (int i = 0, rank = 0; i < count; ++i) {
    const int size = ranks / count + (i < ranks % count ? 1 : 0);
    while (static_cast<int>(groups[static_cast<std::size_t>(i)].size()) < size) {
      groups[static_cast<std::size_t>(i)].push_back(rank++);
    }
  }
  return groups;
}

// "3" or "1-3"; a range is cut at the first rank that does not exist, so that 0-2000000000 takes no time.
void add_ranks(const OptionValues& values, const std::string& text, int ranks, std::vector<int>& group) {
  const std::vector<std::string> ends = split_text(text, '-');
  const std::optional<int> first = whole_number(ends.front()), last = whole_number(ends.back());
  if (!first || !last || ends.size() > 2) {
    refuse_option(values, "groups", "\"" + text + "\" is no rank; " + kForms + did_you_mean(text, {"hosts"}));
  }
  if (*first > *last) {
    refuse_option(
        values, "groups",
        "the range " + text + " runs backwards; write " + std::to_string(*last) + "-" + std::to_string(*first));
  }
  for (int rank = *first; rank <= *last; ++rank) {
    if (rank >= ranks) {
      refuse_option(values, "groups", "there is no rank " + std::to_string(rank) + "; " + last_of(ranks));
    }
    group.push_back(rank);
  }
}

RankGroups listed_groups(const OptionValues& values, int ranks) {
  RankGroups groups;
  for (const std::string& text : parts_of(values.text("groups"), ',', values, "groups", "group")) {
    groups.emplace_back();
    for (const std::string& part : split_text(text, '+')) add_ranks(values, part, ranks, groups.back());
    std::ranges::sort(groups.back());
  }
  std::ranges::sort(groups);
  return groups;
}

void require_every_rank_once(const OptionValues& values, const RankGroups& groups, int ranks) {
  std::vector<int> times(static_cast<std::size_t>(ranks));
  for (const std::vector<int>& group : groups) {
    for (const int rank : group) ++times[static_cast<std::size_t>(rank)];
  }
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    if (times[rank] == 1) continue;
    refuse_option(values, "groups",
                  "rank " + std::to_string(rank) + (times[rank] == 0 ? " is in no group" : " is listed twice") + "; " +
                      last_of(ranks) + ", and each belongs to one group");
  }
}

std::string describe_group(const std::vector<int>& group) {
  std::string text;
  for (std::size_t i = 0; i < group.size();) {
    std::size_t end = i + 1;
    while (end < group.size() && group[end] == group[end - 1] + 1) ++end;
    text += (text.empty() ? "" : "+") + std::to_string(group[i]);
    if (end - i > 1) text += "-" + std::to_string(group[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

OptionSpec groups_option() {
  return {"groups", OptionType::kText, "hosts",
          "ranks that share a center: those of one host (hosts), a number of equal groups, or a list such as 0-3,4-7"};
}

RankGroups resolve_groups(const OptionValues& values, int ranks, const std::vector<std::string>& hosts) {
  const std::string text(trimmed(values.text("groups")));
  if (text == "hosts") return groups_by_host(ranks, hosts);
  if (const std::optional<int> count = whole_number(text)) {
    if (*count >= 1 && *count <= ranks) return equal_groups(*count, ranks);
    refuse_option(values, "groups", "expected from 1 to " + count_text(ranks, "group") + ", one for each rank");
  }
  const RankGroups groups = listed_groups(values, ranks);
  require_every_rank_once(values, groups, ranks);
  return groups;
}

std::string describe_groups(const RankGroups& groups) {
  std::string text;
  for (const std::vector<int>& group : groups) text += (text.empty() ? "" : ",") + describe_group(group);
  return text;
}

const std::vector<int>& group_of(const RankGroups& groups, int rank) {
  for (const std::vector<int>& group : groups) {
    if (std::ranges::binary_search(group, rank)) return group;
  }
  throw Error(ExitCode::kInternal, "rank " + std::to_string(rank) + " is in no group");
}

}  // namespace eave
