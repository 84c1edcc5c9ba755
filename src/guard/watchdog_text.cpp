#include "guard/watchdog_text.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/options/number_text.h"

namespace eave {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string name_rank(int rank, const std::vector<std::string>& hosts) {
  return std::to_string(rank) + " on " + hosts[static_cast<std::size_t>(rank)];
}

std::string describe_place(const Peer& peer) {
  const std::string step = std::to_string(peer.step);
  if (peer.is_in_call) return "is in another call, at step " + step;
  switch (peer.section) {
    case Section::kSetup:
      return "is still setting up";
    case Section::kStep:
      return "is still computing step " + step;
    case Section::kEvaluation:
      return "is still evaluating after step " + step;
    case Section::kCheckpoint:
      break;
  }
  return "is still saving a checkpoint after step " + step;
}

// The rank furthest behind that is in no call. In a call of only some ranks, it is not known which rank they wait for.
std::optional<int> last_that_computes(const Peers& peers) {
  std::optional<int> last;
  for (int rank = 0; rank < peers.size(); ++rank) {
    const Peer& peer = peers[rank];
    if (rank == peers.rank() || !peer.has_answered || peer.is_in_call) continue;
    if (!last || peer.step < peers[*last].step) last = rank;
  }
  return last;
}

}  // namespace

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

std::string name_ranks(std::span<const int> ranks, const std::vector<std::string>& hosts) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t k = 0; k < std::min(ranks.size(), kMostNamed); ++k)
    text += (k == 0 ? "" : ", ") + name_rank(ranks[k], hosts);
  return ranks.size() > kMostNamed ? text + " and " + std::to_string(ranks.size() - kMostNamed) + " more" : text;
}

std::string describe_call(const Call& call) {
  if (call.sequence < 0) return "nothing, for it was through (no call)";
  return std::string("a ") + name_of(call.verb) + " of " + count_text(call.bytes, "byte") +
         (call.verb == Operation::Verb::kBroadcast ? " from rank " + std::to_string(call.root) : "") + " (call " +
         std::to_string(call.sequence) + ")";
}

std::string describe_wait(const Peers& peers, std::span<const int> silent, const Call& call, double seconds,
                          const std::vector<std::string>& hosts) {
  const std::string lasts = seconds_text(seconds);
  if (!silent.empty())
    return name_ranks(silent, hosts) + (silent.size() == 1 ? " has" : " have") + " not answered for " + lasts;
  const std::vector<int> elsewhere = peers.elsewhere(call.meeting);
  if (call.meeting < 0 || elsewhere.empty()) {
    const std::string mine = "all ranks answer, and rank " + name_rank(peers.rank(), hosts) + " is in " +
                             describe_call(call) + " for " + lasts + ": ";
    const std::optional<int> last = last_that_computes(peers);
    if (!last) return mine + "the network may be too slow";
    return mine + "it may wait for rank " + name_rank(*last, hosts) + ", which " + describe_place(peers[*last]) +
           ", or the network may be too slow";
  }
  const int first = elsewhere.front();
  std::string text = "rank " + name_rank(first, hosts) + " " + describe_place(peers[first]);
  if (elsewhere.size() > 1) text += ", and " + std::to_string(elsewhere.size() - 1) + " more are not there yet";
  return text + ", for " + lasts;
}

std::string describe_difference(int rank, const Call& mine, int other, const Call& theirs,
                                const std::vector<std::string>& hosts) {
  return "the ranks are out of step: at meeting " + std::to_string(mine.meeting) + " of all, rank " +
         name_rank(rank, hosts) + " called " + describe_call(mine) + ", rank " + name_rank(other, hosts) + " " +
         describe_call(theirs);
}

}  // namespace eave
