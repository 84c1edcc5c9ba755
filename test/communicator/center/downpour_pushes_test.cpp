// Each push of the DOWNPOUR methods counts exactly once, in whatever order pushes arrive. All values are whole numbers,
// so the results are exact.
#include <gtest/gtest.h>

#include "test/communicator/worker.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Drives a method step by step. Gradients are whole numbers and the learning rate is 1, so all values stay whole.
class Puppet {
 public:
  Puppet(Transport& transport, const std::string& name, const Given& given) {
    const CommunicatorKind& kind = find_kind(communicator_kinds(), name);
    communicator_ = kind.make({transport, values_of(kind.options, given), 1, warnings_});
    communicator_->begin({x, g, {}, {}});
  }
  void step(float gradient, std::int64_t samples = 1) {
    const Step step{next_++, samples, 100, 1};
    communicator_->before_gradients(step);
    std::ranges::fill(g, gradient);
    static_cast<void>(communicator_->before_update(step));
    for (std::size_t k = 0; k < x.size() && communicator_->updates(step); ++k) x[k] -= g[k];
    communicator_->after_update(step);
  }
  std::vector<float> finish() {
    communicator_->finish();
    const ConstSlice c = communicator_->consensus();
    return {c.begin(), c.end()};
  }
  std::vector<float> x = std::vector<float>(100), g = std::vector<float>(100);

 private:
  std::vector<std::string> warnings_;
  std::unique_ptr<Communicator> communicator_;
  std::int64_t next_ = 0;
};

class DownpourPushes : public testing::TestWithParam<Ranks> {};

TEST_P(DownpourPushes, center_counts_each_push_once_in_any_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    const auto p = static_cast<float>(transport.size());
    for (const auto& [name, given] : {std::pair<std::string, Given>{"downpour", {{"tau", "1"}, {"shard-bytes", "64"}}},
                                      {"downpour", {{"tau", "5"}, {"shard-bytes", "64"}}},
                                      {"mdownpour", {{"center-momentum", "0"}, {"shard-bytes", "64"}}},
                                      {"mvadownpour", {{"tau", "1"}, {"average-rate", "1"}, {"shard-bytes", "64"}}}}) {
      Puppet puppet(transport, name, given);
      // Rank i pushes i + 1 per step.
      for (int step = 0; step < 20; ++step) puppet.step(-static_cast<float>(transport.rank() + 1));
      EXPECT_EQ(puppet.finish(), std::vector<float>(100, 20 * p * (p + 1) / 2)) << name;
    }
  });
}

TEST_P(DownpourPushes, a_worker_without_samples_pushes_nothing_and_pulls) {
  on_ranks(GetParam(), [](Transport& transport) {
    const bool has_samples = transport.rank() == 0;
    for (const auto& [name, given] :
         {std::pair<std::string, Given>{"downpour", {{"tau", "2"}, {"async-order", "round-robin"}}},
          {"mdownpour", {{"center-momentum", "0"}, {"async-order", "round-robin"}}}}) {
      Puppet puppet(transport, name, given);
      for (int step = 0; step < 10; ++step) {
        const std::vector<float> before = puppet.x;
        // If a rank has no samples, a trainer leaves the old gradient in place and makes no update.
        puppet.step(has_samples || name == "mdownpour" ? -1.0f : 0.0f, has_samples ? 1 : 0);
      }
      EXPECT_EQ(puppet.x, std::vector<float>(100, 10)) << name;
      EXPECT_EQ(puppet.finish(), std::vector<float>(100, 10)) << name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DownpourPushes, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
