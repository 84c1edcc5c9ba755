#include "communicator/support/plugin_faults.h"

#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "communicator/support/plugin_checks.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

// The message without the request to report it to whoever wrote eave. `call`: the function that failed.
std::string fault_in(const Plugin& plugin, const std::string& call, std::string what) {
  const std::string report = "; please report this";
  if (what.ends_with(report)) what.resize(what.size() - report.size());
  return as_fault(name_of(plugin), call + ": " + what);
}

[[noreturn]] void rethrow_as_fault(const Plugin& plugin, const std::string& call) {
  try {
    throw;
  } catch (const AgreedError& error) {
    if (error.code() != ExitCode::kInternal) throw;
    throw AgreedError(ExitCode::kInternal, fault_in(plugin, call, error.what()));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kInternal) throw;
    throw Error(ExitCode::kInternal, fault_in(plugin, call, error.what()));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kInternal, fault_in(plugin, call, error.what()));
  } catch (...) {
    throw Error(ExitCode::kInternal, fault_in(plugin, call, "it throws what is no std::exception"));
  }
}

template <typename Work>
std::invoke_result_t<Work> named(const Plugin& plugin, const char* call, const Work& work) {
  try {
    return work();
  } catch (...) {
    rethrow_as_fault(plugin, call);
  }
}

class WithNamedFaults final : public Communicator {
 public:
  WithNamedFaults(Plugin plugin, int ranks, std::unique_ptr<Communicator> inner)
      : plugin_(std::move(plugin)), ranks_(ranks), inner_(std::move(inner)) {}

  // Looks at the consensus and the state now, because the next ones may be hours away.
  void begin(const ReplicaView& replica) override {
    size_ = replica.parameters.size();
    guarded("begin()", [&] { inner_->begin(replica); });
    sizes_.begin();
    consensus();
    forget_consensus();
    common_state();
    own_state();
  }
  ConstSlice consensus() override {
    return guarded("consensus()", [&] {
      const ConstSlice consensus = inner_->consensus();
      check_consensus(consensus, size_);
      return consensus;
    });
  }
  void forget_consensus() override {
    return guarded("forget_consensus()", [&] { inner_->forget_consensus(); });
  }
  void before_gradients(const Step& step) override {
    return guarded("before_gradients()", [&] { return inner_->before_gradients(step); });
  }
  float gradient_weight(const Step& step) const override {
    return guarded("gradient_weight()", [&] { return inner_->gradient_weight(step); });
  }
  int micro_batches() const override {
    return guarded("micro_batches()", [&] {
      const int count = inner_->micro_batches();
      check_micro_batches(count, ranks_);
      return count;
    });
  }
  MomentExchange* moments() override {
    return guarded("moments()", [&] { return inner_->moments(); });
  }
  bool wants_gradients() const override {
    return guarded("wants_gradients()", [&] { return inner_->wants_gradients(); });
  }
  void gradient_ready(Slice part) override {
    return guarded("gradient_ready()", [&] { return inner_->gradient_ready(part); });
  }
  std::optional<Pull> before_update(const Step& step) override {
    return guarded("before_update()", [&] {
      std::optional<Pull> pull = inner_->before_update(step);
      if (pull) check_pull(*pull, size_);
      return pull;
    });
  }
  bool wants_loss() const override {
    return guarded("wants_loss()", [&] { return inner_->wants_loss(); });
  }
  bool updates(const Step& step) const override {
    return guarded("updates()", [&] { return inner_->updates(step); });
  }
  void after_update(const Step& step) override {
    return guarded("after_update()", [&] { return inner_->after_update(step); });
  }
  bool reads_parameters_after(const Step& step) const override {
    return guarded("reads_parameters_after()", [&] { return inner_->reads_parameters_after(step); });
  }
  bool consensus_is_first_worker() const override {
    return guarded("consensus_is_first_worker()", [&] { return inner_->consensus_is_first_worker(); });
  }
  void reset_to_center(const ReplicaView& replica) override {
    return guarded("reset_to_center()", [&] { return inner_->reset_to_center(replica); });
  }
  std::vector<Slice> state() override {
    return guarded("state()", [&] {
      std::vector<Slice> state = inner_->state();
      sizes_.check(state);
      return state;
    });
  }
  std::vector<Slice> common_state() override {
    const std::vector<Slice> state = this->state();
    return guarded("common_state()", [&] { return part_of(state, inner_->common_state()); });
  }
  std::vector<Slice> own_state() override {
    const std::vector<Slice> state = this->state();
    return guarded("own_state()", [&] { return part_of(state, inner_->own_state()); });
  }
  void join(const Joining& joining) override {
    return guarded("join()", [&] { return inner_->join(joining); });
  }
  std::vector<Slice> replicated() override {
    return guarded("replicated()", [&] { return inner_->replicated(); });
  }
  std::optional<std::int64_t> exchange_under_way() const override {
    return guarded("exchange_under_way()", [&] { return inner_->exchange_under_way(); });
  }
  bool follows_recorded_order() const override {
    return guarded("follows_recorded_order()", [&] { return inner_->follows_recorded_order(); });
  }
  std::int64_t next_meeting(std::int64_t steps) const override {
    return guarded("next_meeting()", [&] { return inner_->next_meeting(steps); });
  }
  void finish() override {
    return guarded("finish()", [&] { return inner_->finish(); });
  }
  ExchangeReport report() const override {
    return guarded("report()", [&] { return inner_->report(); });
  }
  std::string equation() const override {
    return guarded("equation()", [&] { return inner_->equation(); });
  }
  CommunicatorCosts costs() const override {
    return guarded("costs()", [&] {
      const CommunicatorCosts costs = inner_->costs();
      check_costs(costs);
      return costs;
    });
  }

 private:
  template <typename Work>
  std::invoke_result_t<Work> guarded(const char* call, const Work& work) const {
    return named(plugin_, call, work);
  }
  std::vector<Slice> part_of(const std::vector<Slice>& state, std::vector<Slice> part) const {
    if (sizes_.has_begun()) check_part_of_state(part, state);
    return part;
  }

  const Plugin plugin_;
  const int ranks_;
  const std::unique_ptr<Communicator> inner_;
  std::size_t size_ = 0;
  StateSizes sizes_;
};

}  // namespace

std::unique_ptr<Communicator> with_named_faults(const Plugin& plugin, int ranks,
                                                const std::function<std::unique_ptr<Communicator>()>& make) {
  std::unique_ptr<Communicator> inner = named(plugin, "make", make);
  if (!inner) return nullptr;
  return std::make_unique<WithNamedFaults>(plugin, ranks, std::move(inner));
}

}  // namespace eave
