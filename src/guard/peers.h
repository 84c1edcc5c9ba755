// A rank's knowledge of the other ranks, which its guard collects.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "guard/rank_progress.h"
#include "transport/core/call_record.h"

namespace eave {

struct Peer {
  bool is_asked = false;  // was asked, and has not answered since
  double silent = 0;      // seconds since the first question that is unanswered
  bool has_answered = false;
  Section section = Section::kSetup;  // at its last answer, as the fields below
  std::int64_t step = 0;
  std::int64_t moves = 0;        // grows while the rank makes progress
  std::int64_t collectives = 0;  // collective calls that it has begun
  bool is_in_call = false;
};

// All times are seconds during which this rank has been watching.
class Peers {
 public:
  Peers(int rank, int size) : rank_(rank), peers_(static_cast<std::size_t>(size)) {}
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const Peer& operator[](int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void forget();  // starts from new
  void asked();   // all other ranks have been asked
  void pass(double seconds);
  void heard(int from);
  void answered(int from, const ControlMessage& answer);

  std::vector<int> silent_for(double seconds) const;
  // The ranks that answer and have not yet entered the collective call that this rank is in; those furthest behind come
  // first. A rank that has entered it may have left it: for example, in a gather only rank 0 waits for all.
  std::vector<int> elsewhere(std::int64_t collective) const;
  double since_any_moved() const { return since_moved_; }

 private:
  const int rank_;
  std::vector<Peer> peers_;
  double since_moved_ = 0;
};

// This rank's answer, as a message of this kind.
ControlMessage describe_self(std::int64_t kind, const RankProgress& rank_progress, const CallRecord& calls);

}  // namespace eave
