#include "communicator/support/plugin_faults.h"

#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/options/number_text.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

// Without the request to report it to whoever wrote eave.
std::string as_fault(const Plugin& plugin, std::string what) {
  const std::string report = "; please report this";
  if (what.ends_with(report)) what.resize(what.size() - report.size());
  return "communicator '" + plugin.method + "' (plug-in " + plugin.path + "): " + what +
         "; tell whoever wrote the plug-in";
}

[[noreturn]] void rethrow_as_fault(const Plugin& plugin) {
  try {
    throw;
  } catch (const AgreedError& error) {
    if (error.code() != ExitCode::kInternal) throw;
    throw AgreedError(ExitCode::kInternal, as_fault(plugin, error.what()));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kInternal) throw;
    throw Error(ExitCode::kInternal, as_fault(plugin, error.what()));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kInternal, as_fault(plugin, error.what()));
  } catch (...) {
    throw Error(ExitCode::kInternal, as_fault(plugin, "it throws what is no std::exception"));
  }
}

template <typename Work>
std::invoke_result_t<Work> named(const Plugin& plugin, const Work& work) {
  try {
    return work();
  } catch (...) {
    rethrow_as_fault(plugin);
  }
}

class WithNamedFaults final : public Communicator {
 public:
  WithNamedFaults(Plugin plugin, std::unique_ptr<Communicator> inner)
      : plugin_(std::move(plugin)), inner_(std::move(inner)) {}

  // Looks at the consensus now, because the next one may be hours away.
  void begin(const ReplicaView& replica) override {
    size_ = replica.parameters.size();
    guarded([&] { inner_->begin(replica); });
    consensus();
  }
  ConstSlice consensus() override {
    return guarded([&] {
      const ConstSlice consensus = inner_->consensus();
      if (consensus.size() != size_)
        throw Error(ExitCode::kInternal, "its consensus has " + count_text(std::ssize(consensus), "value") +
                                             ", and the model " +
                                             count_text(static_cast<std::int64_t>(size_), "parameter"));
      return consensus;
    });
  }
  void forget_consensus() override {
    return guarded([&] { inner_->forget_consensus(); });
  }
  void before_gradients(const Step& step) override {
    return guarded([&] { return inner_->before_gradients(step); });
  }
  float gradient_weight(const Step& step) const override {
    return guarded([&] { return inner_->gradient_weight(step); });
  }
  int micro_batches() const override {
    return guarded([&] { return inner_->micro_batches(); });
  }
  MomentExchange* moments() override {
    return guarded([&] { return inner_->moments(); });
  }
  bool wants_gradients() const override {
    return guarded([&] { return inner_->wants_gradients(); });
  }
  void gradient_ready(Slice part) override {
    return guarded([&] { return inner_->gradient_ready(part); });
  }
  std::optional<Pull> before_update(const Step& step) override {
    return guarded([&] { return inner_->before_update(step); });
  }
  bool wants_loss() const override {
    return guarded([&] { return inner_->wants_loss(); });
  }
  bool updates(const Step& step) const override {
    return guarded([&] { return inner_->updates(step); });
  }
  void after_update(const Step& step) override {
    return guarded([&] { return inner_->after_update(step); });
  }
  bool reads_parameters_after(const Step& step) const override {
    return guarded([&] { return inner_->reads_parameters_after(step); });
  }
  bool consensus_is_first_worker() const override {
    return guarded([&] { return inner_->consensus_is_first_worker(); });
  }
  void reset_to_center(const ReplicaView& replica) override {
    return guarded([&] { return inner_->reset_to_center(replica); });
  }
  std::vector<Slice> state() override {
    return guarded([&] { return inner_->state(); });
  }
  std::vector<Slice> common_state() override {
    return guarded([&] { return inner_->common_state(); });
  }
  std::vector<Slice> own_state() override {
    return guarded([&] { return inner_->own_state(); });
  }
  void join(const Joining& joining) override {
    return guarded([&] { return inner_->join(joining); });
  }
  std::vector<Slice> replicated() override {
    return guarded([&] { return inner_->replicated(); });
  }
  std::optional<std::int64_t> exchange_under_way() const override {
    return guarded([&] { return inner_->exchange_under_way(); });
  }
  bool follows_recorded_order() const override {
    return guarded([&] { return inner_->follows_recorded_order(); });
  }
  std::int64_t next_meeting(std::int64_t steps) const override {
    return guarded([&] { return inner_->next_meeting(steps); });
  }
  void finish() override {
    return guarded([&] { return inner_->finish(); });
  }
  ExchangeReport report() const override {
    return guarded([&] { return inner_->report(); });
  }
  std::string equation() const override {
    return guarded([&] { return inner_->equation(); });
  }
  CommunicatorCosts costs() const override {
    return guarded([&] { return inner_->costs(); });
  }

 private:
  template <typename Work>
  std::invoke_result_t<Work> guarded(const Work& work) const {
    return named(plugin_, work);
  }

  const Plugin plugin_;
  const std::unique_ptr<Communicator> inner_;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> with_named_faults(const Plugin& plugin,
                                                const std::function<std::unique_ptr<Communicator>()>& make) {
  std::unique_ptr<Communicator> inner = named(plugin, make);
  if (!inner) return nullptr;
  return std::make_unique<WithNamedFaults>(plugin, std::move(inner));
}

}  // namespace eave
