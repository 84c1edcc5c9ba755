// How far the ranks are in their training: what this rank tells, and what its guard knows of the other ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "guard/rank_calls.h"

namespace eave {

enum class Section : std::int64_t { kSetup, kStep, kEvaluation, kCheckpoint };

// The place of this rank in its training, which its guard tells to other ranks. The training thread writes it. Any
// thread may read it.
class RankProgress {
 public:
  // `step`: the current step, from 1; in sections other than kStep the last one done.
  void enter(Section section, std::int64_t step) noexcept {
    section_.store(static_cast<std::int64_t>(section), std::memory_order_relaxed);
    step_.store(step, std::memory_order_relaxed);
    move();
  }
  // Reports progress, also without a change of section.
  void move() noexcept { moves_.fetch_add(1, std::memory_order_relaxed); }

  // The rank waits before a step because it follows rank 0 (LeaveGate::pace).
  void begin_to_wait() noexcept { waits_.fetch_add(1, std::memory_order_relaxed); }
  void end_waiting() noexcept { waits_.fetch_add(1, std::memory_order_relaxed); }
  // The number of the wait in progress, from 1; 0: there is none.
  std::int64_t wait() const noexcept {
    const std::int64_t waits = waits_.load(std::memory_order_relaxed);
    return waits % 2 == 0 ? 0 : waits;
  }

  Section section() const noexcept { return static_cast<Section>(section_.load(std::memory_order_relaxed)); }
  std::int64_t step() const noexcept { return step_.load(std::memory_order_relaxed); }
  std::int64_t moves() const noexcept { return moves_.load(std::memory_order_relaxed); }

  DeviceCalls& device_calls() noexcept { return device_calls_; }
  const DeviceCalls& device_calls() const noexcept { return device_calls_; }

 private:
  std::atomic<std::int64_t> section_{0}, step_{0}, moves_{0}, waits_{0};
  DeviceCalls device_calls_;
};

// The knowledge of one other rank.
struct Peer {
  bool is_asked = false;  // was asked, and has not answered since
  double silent = 0;      // seconds since the first question that is unanswered; see Peers::begin
  bool has_answered = false;
  Section section = Section::kSetup;  // at its last answer, as the fields below
  std::int64_t step = 0;
  std::int64_t moves = 0;        // grows while the rank makes progress
  std::int64_t collectives = 0;  // collective calls that it has begun
  bool is_in_call = false;
};

// This rank's knowledge of the other ranks, which its guard collects. All times are seconds during which this rank has
// been watching.
class Peers {
 public:
  Peers(int rank, int size) : rank_(rank), peers_(static_cast<std::size_t>(size)) {}
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const Peer& operator[](int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void forget();  // starts from new
  // The first question of a call is due. Before it, no rank was heard or seen to move for this time.
  void begin(double seconds);
  void asked();  // all other ranks have been asked
  void pass(double seconds);
  void heard(int from);
  void answered(int from, const ControlMessage& answer);

  std::vector<int> silent_for(double seconds) const;
  // The ranks that answer and have not yet entered the collective call that this rank is in; those furthest behind come
  // first. A rank that has entered it may have left it: for example, in a gather only rank 0 waits for all.
  std::vector<int> elsewhere(std::int64_t collective) const;
  double since_any_moved() const { return since_moved_; }
  // For how long some rank is silent or no rank makes progress.
  double standstill() const;

 private:
  const int rank_;
  std::vector<Peer> peers_;
  double since_moved_ = 0;
};

// This rank's answer to a rank that is in call `theirs`, as a message of this kind.
ControlMessage describe_self(std::int64_t kind, const RankProgress& rank_progress, const RankCalls& calls,
                             const Call& theirs);

}  // namespace eave
