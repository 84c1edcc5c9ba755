// What a rank's guard knows of the other ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "guard/whereabouts.h"
#include "transport/call_record.h"

namespace eave {

struct Peer {
  bool is_asked = false;  // and has not answered since
  double silent = 0;      // seconds since the first question that it has not answered
  bool has_answered = false;
  Section section = Section::kSetup;  // as it answered last
  std::int64_t step = 0;
  std::int64_t moves = 0;     // grows while it goes on
  std::int64_t meetings = 0;  // calls of all ranks that it has begun
  bool is_in_call = false;
};

// Seconds are those that this rank has been watching.
class Peers {
 public:
  Peers(int rank, int size) : rank_(rank), peers_(static_cast<std::size_t>(size)) {}
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const Peer& operator[](int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void forget();  // asking begins anew
  void asked();   // all others
  void pass(double seconds);
  void heard(int from);
  void answered(int from, const ControlMessage& answer);

  std::vector<int> silent_for(double seconds) const;
  // Answer, and have not come to the meeting that this rank is in, those first that are furthest behind. Who has come
  // may be past it: in a gathering only rank 0 waits for all.
  std::vector<int> elsewhere(std::int64_t meeting) const;
  double since_any_moved() const { return since_moved_; }

 private:
  const int rank_;
  std::vector<Peer> peers_;
  double since_moved_ = 0;
};

// A rank's answer, of this kind.
ControlMessage describe_self(std::int64_t kind, const Whereabouts& whereabouts, const CallRecord& calls);

}  // namespace eave
