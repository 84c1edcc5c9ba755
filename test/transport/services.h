// Services that tests of requests use, and a guard that serves them.
#pragma once

#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Serves from the constructor to end(), which are both collective. If end() is not called, the destructor withdraws the
// service without waiting for other ranks.
class Serving {
 public:
  Serving(Transport& transport, Service* service) : transport_(transport) { transport_.serve(service); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving() {
    if (!ended_) transport_.withdraw();
  }
  void end() {
    transport_.serve(nullptr);
    ended_ = true;
  }

 private:
  Transport& transport_;
  bool ended_ = false;
};

// The reply to a value is 2·value + key + 1000·owner. Counts what it answers.
class DoublingService final : public Service {
 public:
  explicit DoublingService(int owner) : owner_(owner) {}
  static float reply(float value, std::int64_t key, int owner) {
    return 2 * value + static_cast<float>(key) + 1000.0f * static_cast<float>(owner);
  }
  bool answer(int from, std::int64_t key, Slice values) override {
    for (float& value : values) value = reply(value, key, owner_);
    ++times_answered[{from, key}];
    ++answered;
    return true;
  }

  std::atomic<int> answered{0};                                // may be read at any time
  std::map<std::pair<int, std::int64_t>, int> times_answered;  // by (from, key); read it only after Serving::end()

 private:
  const int owner_;
};

// Replies at once with the values of the request.
class EchoService final : public Service {
 public:
  bool answer(int, std::int64_t, Slice) override { return ++answered > 0; }
  int answered = 0;  // read it only after Serving::end()
};

// Answers the ranks in turn and refuses all others. Adds the integers in each request to a sum.
class RoundRobinService final : public Service {
 public:
  explicit RoundRobinService(int ranks) : ranks_(ranks) {}
  bool answer(int from, std::int64_t, Slice values) override {
    if (from != static_cast<int>(order.size()) % ranks_) {
      ++refused;
      return false;
    }
    order.push_back(from);
    for (float& value : values) sum += static_cast<std::int64_t>(value);
    return true;
  }

  std::vector<int> order;
  std::int64_t sum = 0, refused = 0;

 private:
  const int ranks_;
};

}  // namespace eave
