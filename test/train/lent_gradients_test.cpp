// Training with gradients in memory that the transport lends.
#include <gtest/gtest.h>

#include <vector>

#include "test/train/training.h"
#include "transport/decorators/forwarding.h"

namespace eave {
namespace {

// A transport that lends memory only once.
class Lender final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  Slice lend(std::size_t size) override {
    EXPECT_TRUE(memory_.empty());
    memory_.resize(size);
    return memory_;
  }
  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override {
    const bool is_inside = values.data() >= memory_.data() && values.data() < memory_.data() + memory_.size();
    if (is_inside) summed_ += values.size();
    return ForwardingTransport::all_reduce_sum(values, ranks, compression);
  }
  std::size_t lent() const { return memory_.size(); }
  std::size_t summed() const { return summed_; }

 private:
  std::vector<float> memory_;
  std::size_t summed_ = 0;
};

TEST(LentGradients, are_summed_where_they_are_lent_and_train_the_same) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    Trained own(transport, setting);
    Lender lender(transport);
    Trained lent(lender, setting);
    const std::size_t size = own.replica().gradients.size();
    EXPECT_EQ(lender.lent(), size);
    EXPECT_GE(lender.summed(), size * static_cast<std::size_t>(setting.plan.steps));
    EXPECT_EQ(lent.parameters(), own.parameters());
  });
}

TEST(LentGradients, are_not_asked_for_where_none_are_averaged) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = "none";
    Lender lender(transport);
    Trained training(lender, setting);
    EXPECT_EQ(lender.lent(), 0u);
  });
}

}  // namespace
}  // namespace eave
