// If a plug-in's method fails, the message names the plug-in.
#include "communicator/support/plugin_faults.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "eave/agreement.h"
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
  const auto named = with_named_faults(kFaulty, [&] { return std::make_unique<Faulty>(fault); });
  (void)named->before_update({});
}

TEST(PluginFaults, name_the_plug_in_and_whom_to_tell) {
  const std::string name = "communicator 'faulty' (plug-in /p/faulty.so): ", tell = "; tell whoever wrote the plug-in";
  const auto expect = [&](const std::string& words, const std::function<void()>& fault) {
    expect_error(ExitCode::kInternal, name + words + tell, [&] { update_with(fault); });
  };
  expect("a bug", [] { throw std::runtime_error("a bug"); });
  expect("it throws what is no std::exception", [] { throw 42; });
  expect("out of step", [] { throw AgreedError(ExitCode::kInternal, "out of step"); });
  expect("internal error: root < ranks does not hold (99) at f.cpp:1",
         [] { fail_check("root < ranks", "f.cpp", 1, "99"); });
  expect_error(ExitCode::kInternal, name + "no memory for it" + tell, [] {
    with_named_faults(kFaulty, []() -> std::unique_ptr<Communicator> { throw std::runtime_error("no memory for it"); });
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
  with_named_faults(kFaulty, [&] { return std::make_unique<Told>(told); })->forget_consensus();
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
    const auto named = with_named_faults(kFaulty, [&] { return std::make_unique<Faulty>([] {}, left_out); });
    named->begin({.parameters = x, .gradients = g, .statistics = {}});
  };
  EXPECT_NO_THROW(begin(0));
  expect_error(ExitCode::kInternal, "its consensus has 7 values, and the model 10 parameters", [&] { begin(3); });
}

}  // namespace
}  // namespace eave
