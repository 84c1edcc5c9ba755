#include "test/transport/nccl/lazy_collectives.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "transport/core/operation.h"
#include "transport/core/transport_base.h"
#include "transport/threads/thread_barrier.h"

namespace eave {
namespace {

constexpr auto kCallTakes = std::chrono::microseconds(50);

// The state that the ranks of a group share.
struct SharedGroup {
  explicit SharedGroup(int size) : barrier(all_ranks(size), lost) {}
  LostRank lost{-1};
  ThreadBarrier barrier;
};

std::shared_ptr<SharedGroup> group_of(const std::string& word, int size) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedGroup>> groups;
  const std::lock_guard lock(mutex);
  std::shared_ptr<SharedGroup> shared = groups[word].lock();
  if (!shared) groups[word] = shared = std::make_shared<SharedGroup>(size);
  return shared;
}

std::string next_word() {
  static std::atomic<int> number{0};
  return "room " + std::to_string(++number) + std::string("\0\xff", 2);  // a word may hold any bytes
}

class LazyTicket final : public DeviceTicket {
 public:
  explicit LazyTicket(LazyQueue& queue) : queue_(queue) {}
  bool begun() override { return ready->reached(); }
  bool reached() override { return mark->reached(); }
  void hold_up_device() override { queue_.enqueue({.awaited = mark}); }
  double seconds() const override { return 1e-3; }

  std::shared_ptr<DeviceMark> ready;
  std::shared_ptr<LazyMark> mark;

 private:
  LazyQueue& queue_;
};

class LazyCollectives final : public DeviceCollectives {
 public:
  LazyCollectives(CollectiveLazyDevice& device, const LazyLibrary& library)
      : device_(device), library_(library), thread_([this] { carry_out_all(); }) {}
  ~LazyCollectives() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }

  std::string make_word() override {
    if (!library_.makes_words) throw Error(ExitCode::kResource, "no word");
    return next_word();
  }
  int join(const std::string& word, int place, int size) override {
    groups_.push_back({group_of(word, size), place});
    words_.push_back(word);
    ++device_.groups;
    return static_cast<int>(groups_.size() - 1);
  }
  std::unique_ptr<DeviceTicket> make_ticket() override { return std::make_unique<LazyTicket>(device_.queue()); }
  void all_reduce_sum(int group, Slice values, DeviceTicket& ticket) override {
    enqueue(group_at(group), values, -1, ticket);
  }
  void prepare_pair(int group, int other) override {
    if (!pairs_.contains({group, other})) device_.wait();
    pair_of(group, other);
  }
  void sum_with(int group, int other, Slice values, DeviceTicket& ticket) override {
    enqueue(pair_of(group, other), values, -1, ticket);
  }
  void broadcast(int group, Slice values, int root, DeviceTicket& ticket) override {
    enqueue(group_at(group), values, root, ticket);
  }
  bool has_failed() const noexcept override { return failed_; }
  void check() const override {
    if (failed_) throw Error(ExitCode::kPeerLost, "a peer is gone");
  }

 private:
  struct Group {
    std::shared_ptr<SharedGroup> shared;
    int place;
  };
  struct Task {
    Group group;
    Slice values;
    int root;  // -1: a sum
    std::shared_ptr<DeviceMark> ready;
    std::shared_ptr<LazyMark> done;
  };

  const Group& group_at(int number) { return groups_[static_cast<std::size_t>(number)]; }

  const Group& pair_of(int group, int other) {
    const int own = group_at(group).place;
    Group& pair = pairs_[{group, other}];
    const std::string names = std::to_string(std::min(own, other)) + " and " + std::to_string(std::max(own, other));
    if (!pair.shared) pair = {group_of(words_[static_cast<std::size_t>(group)] + names, 2), own < other ? 0 : 1};
    return pair;
  }

  void enqueue(const Group& group, Slice values, int root, DeviceTicket& ticket) {
    check();
    EAVE_CHECK(device_.holds(values), "not on the device");
    if (device_.before_taking) device_.before_taking();
    auto& own = static_cast<LazyTicket&>(ticket);
    std::shared_ptr<LazyMark>& mark = own.mark;
    mark = std::allocate_shared<LazyMark>(Uncounted<LazyMark>());
    const Slice reachable(device_.reachable(values.data()), values.size());
    const std::shared_ptr<DeviceMark> ready = own.ready = device_.mark();
    ++device_.in_flight;
    const std::lock_guard lock(mutex_);
    tasks_.push_back({group, reachable, root, ready, mark});
    changed_.notify_one();
  }

  void carry_out_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      try {
        if (!failed_) carry_out(task);
      } catch (const Error&) {
        failed_ = true;
      }
      --device_.in_flight;
      task.done->reach();
      lock.lock();
    }
  }

  void carry_out(const Task& task) {
    task.ready->wait();
    SharedGroup& shared = *task.group.shared;
    if (device_.operations++ == library_.operations_until_failure) {
      shared.lost = task.group.place;
      shared.barrier.wake();
      throw Error(ExitCode::kPeerLost, "this is the one");
    }
    std::this_thread::sleep_for(kCallTakes);
    const auto& all = shared.barrier.enter(task.group.place, {.values = task.values, .root = task.root});
    if (task.group.place == 0) combine(all, task.root);
    shared.barrier.leave();
  }

  static void combine(const std::vector<Operation::Request>& all, int root) {
    std::array<float, 4096> sum;
    for (std::size_t at = 0; at < all.front().values.size(); at += sum.size()) {
      const std::size_t count = std::min(sum.size(), all.front().values.size() - at);
      std::copy_n(all[static_cast<std::size_t>(std::max(root, 0))].values.data() + at, count, sum.data());
      for (std::size_t place = 1; root < 0 && place < all.size(); ++place)
        for (std::size_t i = 0; i < count; ++i) sum[i] += all[place].values[at + i];
      for (const Operation::Request& each : all) std::copy_n(sum.data(), count, each.values.data() + at);
    }
  }

  CollectiveLazyDevice& device_;
  const LazyLibrary library_;
  std::vector<Group> groups_;
  std::vector<std::string> words_;              // by group
  std::map<std::pair<int, int>, Group> pairs_;  // by group and place of the other rank
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task, Uncounted<Task>> tasks_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<DeviceCollectives> CollectiveLazyDevice::make_collectives() {
  return std::make_unique<LazyCollectives>(*this, library_);
}

}  // namespace eave
