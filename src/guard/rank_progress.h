// The place of a rank in its training, which its guard tells to other ranks.
#pragma once

#include <atomic>
#include <cstdint>

namespace eave {

enum class Section : std::int64_t { kSetup, kStep, kEvaluation, kCheckpoint };

// The training thread writes it. Any thread may read it.
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

  Section section() const noexcept { return static_cast<Section>(section_.load(std::memory_order_relaxed)); }
  std::int64_t step() const noexcept { return step_.load(std::memory_order_relaxed); }
  std::int64_t moves() const noexcept { return moves_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> section_{0}, step_{0}, moves_{0};
};

}  // namespace eave
