// Ranks of a simulated world with a watchdog each, whose clock only the test moves.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "guard/watchdog.h"

namespace eave {

// Ranks 0, 1, ... on hosts a, b, ... with a watchdog each. Time passes and messages arrive only in pass().
class World {
 public:
  explicit World(int size, double limit = 100, const std::string& directory = "",
                 FileCalls& files = system_file_calls(), const std::function<void(const std::string&)>& say = {}) {
    WatchdogSettings settings;
    settings.directory = directory;
    settings.files = &files;
    settings.limits = {
        {limit, "the limit of set-up"}, {limit, "the limit of steps"}, {limit / 2, "that of checkpoints"}};
    for (int rank = 0; rank < size; ++rank) settings.hosts.push_back(std::string(1, static_cast<char>('a' + rank)));
    for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(rank, size, *this));
    for (auto& each : ranks_) {
      settings.say = say ? say : [this](const std::string& line) { said_.push_back(line); };
      settings.leave = [&each](ExitCode code) { each->left = static_cast<int>(code); };
      each->watchdog = std::make_unique<Watchdog>(*each, each->calls, each->rank_progress, each->rank, settings);
    }
  }

  void pass(double seconds) {
    for (double passed = 0; passed < seconds; passed += 0.05)
      for (auto& each : ranks_)
        if (!each->is_frozen && each->left == 0) each->look();
  }
  void begin(int rank, const Operation::Request& request) { at(rank).calls.begin(request); }
  void end(int rank) { at(rank).calls.end(); }
  void begin_on_device(int rank, const Operation::Request& request) { device_calls(rank).begin(request); }
  void end_on_device(int rank) { device_calls(rank).end(); }
  // On all ranks, as the guards of `eave train` and of programs see it: after the watchdogs were made.
  void show_device_calls(bool are_of_parts = false) {
    for (auto& each : ranks_) {
      each->device_calls = std::make_shared<CallRecord>(static_cast<int>(ranks_.size()), true);
      each->rank_progress.device_calls().show(each->device_calls, are_of_parts);
    }
  }
  void hide_device_calls(int rank) { rank_progress(rank).device_calls().show(nullptr); }
  void freeze(int rank, bool is_frozen = true) { at(rank).is_frozen = is_frozen; }
  RankProgress& rank_progress(int rank) { return at(rank).rank_progress; }
  void leave(int rank) { at(rank).watchdog->leave(); }
  bool has_left(int rank) { return at(rank).watchdog->has_left(); }
  int left(int rank) { return at(rank).left; }
  const std::vector<std::string>& said() const { return said_; }

 private:
  struct Rank final : ControlChannel {
    Rank(int rank_of, int size, World& world_of) : rank(rank_of), world(world_of), calls(size) {}
    void post(int to, const ControlMessage& message) override { world.at(to).come.emplace_back(rank, message); }
    bool poll(ControlMessage&, int&) override { return false; }
    void look() {
      for (; !come.empty(); come.pop_front()) EXPECT_TRUE(watchdog->handle(come.front().first, come.front().second));
      watchdog->tick(0.05);
    }
    const int rank;
    World& world;
    CallRecord calls;
    std::shared_ptr<CallRecord> device_calls;
    RankProgress rank_progress;
    std::deque<std::pair<int, ControlMessage>> come;
    std::unique_ptr<Watchdog> watchdog;
    bool is_frozen = false;
    int left = 0;
  };
  CallRecord& device_calls(int rank) {
    if (!at(rank).device_calls) show_device_calls();
    return *at(rank).device_calls;
  }
  Rank& at(int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::string> said_;
};

// Watchdogs write their files in threads of their own.
inline bool comes_to_exist(const std::filesystem::path& path) {
  for (int look = 0; look < 1000 && !std::filesystem::exists(path); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return std::filesystem::exists(path);
}

}  // namespace eave
