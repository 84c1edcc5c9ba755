#include "eave/communicator.h"

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "communicator/support/compression.h"
#include "communicator/support/plugin_faults.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/update_steps.h"

namespace eave {

void Communicator::before_gradients(const Step&) {}
float Communicator::gradient_weight(const Step&) const { return 1; }
void Communicator::gradient_ready(Slice) {}
std::optional<Pull> Communicator::before_update(const Step&) { return {}; }
bool Communicator::updates(const Step& step) const { return step.samples > 0; }
void Communicator::after_update(const Step&) {}
bool Communicator::reads_parameters_after(const Step&) const { return true; }

namespace {

// Without this check the first exchange would fail, with a message about ranks that are out of step.
void require_equal_sizes(Transport& transport, const ReplicaView& replica) {
  const std::vector<std::string> sizes = transport.gather(count_text(replica.parameters.size(), "parameter") + " and " +
                                                          count_text(replica.statistics.size(), "statistic"));
  let_first_judge(transport, [&] {
    for (std::size_t rank = 1; rank < sizes.size(); ++rank) {
      if (sizes[rank] != sizes[0])
        throw Error(ExitCode::kConfiguration, "rank 0 has " + sizes[0] + ", rank " + std::to_string(rank) + " has " +
                                                  sizes[rank] + "; start every rank with the same model");
    }
  });
}

void refuse_unused_compression(const CommunicatorKind& kind, const OptionValues& values) {
  if (!asks_for_compression(values)) return;
  refuse_option(
      values, "compression",
      "has no effect: --communicator " + kind.name +
          " does not ask for the codec; leave it out. To whoever wrote the method: leave compresses out of its "
          "CommunicatorTraits");
}

// One rank has no other to compare with, but a comparison gives it the options of several.
bool asks_for_comparison(const CommunicatorKind& kind, const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  const std::string name = "replica-hash-every";
  return context.transport.size() > 1 && kind.traits.exchanges_together && values.entries().contains(name) &&
         values.given(name) && values.integer(name, 0) > 0;
}

[[noreturn]] void refuse_comparison_of_nothing(const CommunicatorKind& kind, const OptionValues& values) {
  refuse_option(values, "replica-hash-every",
                "has no effect: --communicator " + kind.name +
                    " does not say what it keeps equal on all ranks; leave it out. To whoever wrote the method: "
                    "override Communicator::replicated()");
}

std::unique_ptr<Communicator> make_by(const CommunicatorKind& kind, const CommunicatorContext& context) {
  const Plugin* plugin = plugin_of(kind.name);
  if (!plugin) return kind.make(context);
  return with_named_faults(*plugin, context.transport.size(), [&] { return kind.make(context); });
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const CommunicatorKind& kind, CommunicatorContext context) {
  bool asked_for_codec = false;
  context.asked_for_codec = &asked_for_codec;
  std::unique_ptr<Communicator> communicator = make_by(kind, context);
  if (!communicator) throw Error(ExitCode::kInternal, "make of --communicator " + kind.name + " has returned nothing");
  if (!asked_for_codec) refuse_unused_compression(kind, context.values);
  if (asks_for_comparison(kind, context) && communicator->replicated().empty())
    refuse_comparison_of_nothing(kind, context.values);
  return communicator;
}

void Communicator::reset_to_center(const ReplicaView& replica) {
  const ConstSlice center = consensus();
  if (center.data() != replica.parameters.data()) replica.device->copy(replica.parameters, center);
  forget_optimizer(replica);
}

void forget_optimizer(const ReplicaView& replica) {
  for (const Slice vector : replica.optimizer) replica.device->fill(vector, 0);
  if (replica.updates) *replica.updates = 0;
}

double share_replica(Transport& transport, const ReplicaView& replica) {
  EAVE_CHECK(replica.gradients.size() == replica.parameters.size(), "gradients are as large as parameters");
  require_equal_sizes(transport, replica);
  double seconds = transport.broadcast(replica.parameters, 0).wait();
  if (!replica.statistics.empty()) seconds += transport.broadcast(replica.statistics, 0).wait();
  return seconds;
}

}  // namespace eave
