// If a plug-in's method fails, the message names the plug-in.
#include "communicator/support/plugin_faults.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "eave/agreement.h"
#include "eave/update_steps.h"
#include "test/expectations.h"

namespace eave {
namespace {

const Plugin kFaulty = {"/p/faulty.so", "faulty", ""};

// Does in before_update what the test gives it.
class Faulty : public Communicator {
 public:
  explicit Faulty(std::function<void()> fault, std::size_t left_out = 0)
      : fault_(std::move(fault)), left_out_(left_out) {}
  void begin(const ReplicaView& replica) override { parameters_ = replica.parameters; }
  std::optional<Pull> before_update(const Step&) override {
    fault_();
    return std::nullopt;
  }
  ConstSlice consensus() override { return parameters_.first(parameters_.size() - left_out_); }
  void finish() override {}
  std::string equation() const override { return "p = 1"; }
  CommunicatorCosts costs() const override { return {}; }

 private:
  std::function<void()> fault_;
  std::size_t left_out_;
  Slice parameters_;
};

void update_with(const std::function<void()>& fault) {
  const auto named = with_named_faults(kFaulty, 1, [&] { return std::make_unique<Faulty>(fault); });
  (void)named->before_update({});
}

TEST(PluginFaults, name_the_plug_in_and_whom_to_tell) {
  const std::string name = "communicator 'faulty' (plug-in /p/faulty.so): ", tell = "; tell whoever wrote the plug-in";
  const auto expect = [&](const std::string& words, const std::function<void()>& fault) {
    expect_error(ExitCode::kInternal, name + "before_update(): " + words + tell, [&] { update_with(fault); });
  };
  expect("a bug", [] { throw std::runtime_error("a bug"); });
  expect("it throws what is no std::exception", [] { throw 42; });
  expect("out of step", [] { throw AgreedError(ExitCode::kInternal, "out of step"); });
  expect("internal error: root < ranks does not hold (99) at f.cpp:1",
         [] { fail_check("root < ranks", "f.cpp", 1, "99"); });
  expect_error(ExitCode::kInternal, name + "make: no memory for it" + tell, [] {
    with_named_faults(kFaulty, 1,
                      []() -> std::unique_ptr<Communicator> { throw std::runtime_error("no memory for it"); });
  });
}

TEST(PluginFaults, leave_calls_as_they_are) {
  class Told final : public Faulty {
   public:
    explicit Told(int& told) : Faulty([] {}), told_(told) {}
    void forget_consensus() override { ++told_; }

   private:
    int& told_;
  };
  int told = 0;
  with_named_faults(kFaulty, 1, [&] { return std::make_unique<Told>(told); })->forget_consensus();
  EXPECT_EQ(told, 1);
}

TEST(PluginFaults, leave_errors_of_the_job_and_of_the_system_as_they_are) {
  expect_error(ExitCode::kPeerLost, "rank 1 is gone",
               [] { update_with([] { throw Error(ExitCode::kPeerLost, "rank 1 is gone"); }); });
  EXPECT_THROW(update_with([] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(PluginFaults, include_a_consensus_of_another_size_as_soon_as_it_begins) {
  std::vector<float> x(10), g(10);
  const auto begin = [&](std::size_t left_out) {
    const auto named = with_named_faults(kFaulty, 1, [&] { return std::make_unique<Faulty>([] {}, left_out); });
    named->begin({.parameters = x, .gradients = g, .statistics = {}});
  };
  EXPECT_NO_THROW(begin(0));
  expect_error(ExitCode::kInternal, "consensus(): its consensus has 7 values, and the model 10 parameters",
               [&] { begin(3); });
}

// The wrong value that the method returns against its contract.
class Wrong final : public Faulty {
 public:
  Wrong() : Faulty([] {}) {}
  std::optional<Pull> before_update(const Step&) override { return pull; }
  int micro_batches() const override { return parts; }
  CommunicatorCosts costs() const override { return {seconds}; }
  std::vector<Slice> state() override { return all; }
  std::vector<Slice> common_state() override { return common; }
  std::vector<Slice> own_state() override { return own; }

  Pull pull;
  int parts = 0;
  double seconds = 0;
  std::vector<Slice> all, common, own;
};

class WrongResults : public testing::Test {
 protected:
  WrongResults()
      : named_(with_named_faults(kFaulty, 2, [&] {
          auto made = std::make_unique<Wrong>();
          wrong_ = made.get();
          return made;
        })) {}
  void begin() { named_->begin({.parameters = x_, .gradients = g_, .statistics = {}}); }
  static void expect(const std::string& words, const std::function<void()>& call) {
    expect_error(ExitCode::kInternal, "communicator 'faulty' (plug-in /p/faulty.so): " + words, call);
  }

  std::vector<float> x_ = std::vector<float>(10), g_ = x_, c_ = x_, v_ = x_;
  Wrong* wrong_ = nullptr;
  std::unique_ptr<Communicator> named_;
};

TEST_F(WrongResults, of_a_pull_are_found_before_the_optimizer_uses_it) {
  begin();
  const auto expect_pull = [&](const std::string& words, const Pull& pull) {
    wrong_->pull = pull;
    expect("before_update(): the " + words, [&] { (void)named_->before_update({}); });
  };
  expect_pull("center of its Pull has 0 values, and the model 10 parameters", {});
  expect_pull("center of its Pull has 3 values", {Slice(c_).first(3), 0.5f, v_});
  expect_pull("difference of its Pull has 9 values", {c_, 0.5f, Slice(v_).first(9)});
  expect_pull("alpha of its Pull is nan", {c_, std::numeric_limits<float>::quiet_NaN(), v_});
  wrong_->pull = {c_, 0.5f, v_};
  EXPECT_EQ(named_->before_update({})->center.data(), c_.data());
}

TEST_F(WrongResults, of_micro_batches_and_costs_are_found) {
  for (const int parts : {-2, 1, 3, 6}) {
    wrong_->parts = parts;
    expect("micro_batches(): it returns " + std::to_string(parts) + "; with 2 ranks", [&] { named_->micro_batches(); });
  }
  for (const int parts : {0, 2, 4, 16}) {
    wrong_->parts = parts;
    EXPECT_EQ(named_->micro_batches(), parts);
  }
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    wrong_->seconds = seconds;
    expect("costs(): its seconds_waiting are", [&] { named_->costs(); });
  }
}

TEST_F(WrongResults, of_state_that_change_are_found) {
  wrong_->all = {Slice(), v_};
  named_->state();
  wrong_->all = {c_, v_};
  EXPECT_NO_THROW(begin());
  wrong_->all = {c_, Slice(v_).first(4)};
  expect("state(): slice 1 has 4 values, and had 10 before", [&] { named_->state(); });
  wrong_->all = {c_};
  expect("state(): it returns 1 slice, and returned 2 before", [&] { named_->state(); });
}

TEST_F(WrongResults, of_common_and_own_state_are_found_as_soon_as_it_begins) {
  wrong_->all = {c_, v_};
  wrong_->common = {c_};
  wrong_->own = {v_};
  EXPECT_NO_THROW(begin());
  wrong_->common = {g_};
  expect("common_state(): it returns a slice of 10 values that is none of state()", [&] { begin(); });
  wrong_->common = {Slice(c_).first(4)};
  expect("common_state(): it returns a slice of 4 values", [&] { begin(); });
  wrong_->common = {c_};
  wrong_->own = {g_};
  expect("own_state(): it returns a slice of 10 values", [&] { begin(); });
}

}  // namespace
}  // namespace eave
