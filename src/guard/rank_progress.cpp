#include "guard/rank_progress.h"

#include <algorithm>

namespace eave {

void Peers::forget() {
  for (Peer& peer : peers_) peer = {};
  since_moved_ = 0;
}

void Peers::begin(double seconds) {
  for (Peer& peer : peers_) peer.silent = seconds;
  since_moved_ = seconds;
}

void Peers::asked() {
  for (int rank = 0; rank < size(); ++rank) peers_[static_cast<std::size_t>(rank)].is_asked = rank != rank_;
}

void Peers::pass(double seconds) {
  for (Peer& peer : peers_)
    if (peer.is_asked) peer.silent += seconds;
  since_moved_ += seconds;
}

void Peers::heard(int from) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  peer.is_asked = false;
  peer.silent = 0;
}

void Peers::answered(int from, const ControlMessage& answer) {
  heard(from);
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  const auto& [section, step, moves, collectives, is_in_call, unused, rest] = answer.numbers;
  if (peer.has_answered && moves != peer.moves) since_moved_ = 0;
  peer.has_answered = true;
  peer.section = static_cast<Section>(section);
  peer.step = step;
  peer.moves = moves;
  peer.collectives = collectives;
  peer.is_in_call = is_in_call != 0;
}

std::vector<int> Peers::silent_for(double seconds) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if ((*this)[rank].is_asked && (*this)[rank].silent >= seconds) ranks.push_back(rank);
  return ranks;
}

std::vector<int> Peers::elsewhere(std::int64_t collective) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& peer = (*this)[rank];
    if (rank != rank_ && peer.has_answered && peer.collectives <= collective) ranks.push_back(rank);
  }
  std::ranges::stable_sort(ranks, {}, [this](int rank) { return (*this)[rank].collectives; });
  return ranks;
}

double Peers::standstill() const {
  double longest = since_moved_;
  for (const Peer& peer : peers_)
    if (peer.is_asked) longest = std::max(longest, peer.silent);
  return longest;
}

ControlMessage describe_self(std::int64_t kind, const RankProgress& rank_progress, const RankCalls& calls,
                             const Call& theirs) {
  const std::optional<Call> call = calls.under_way();
  return {kind,
          {static_cast<std::int64_t>(rank_progress.section()), rank_progress.step(),
           rank_progress.moves() + calls.begun(), calls.collectives_like(theirs), call ? 1 : 0}};
}

}  // namespace eave
