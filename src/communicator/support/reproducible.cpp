#include "communicator/support/reproducible.h"

#include <algorithm>
#include <bit>

#include "base/options/option_values.h"
#include "communicator/support/compression.h"
#include "communicator/support/sync_batch_norm.h"

namespace eave {
namespace {

constexpr std::int64_t kMost = 4096;

bool is_power_of_two(std::int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

void refuse_what_depends_on_ranks(const OptionValues& values, const CommunicatorContext& context) {
  for (const std::string name : {"reduction", "loss-reduction"}) {
    const std::string& usual = name == "reduction" ? "weighted" : "mean";
    if (values.text(name) != usual) {
      refuse_option(values, name, "with --reproducible samples count alike, whatever rank they are on: leave it out");
    }
  }
  if (syncs_batch_norm(values)) {
    refuse_option(
        values, "batch-norm",
        "with --reproducible each micro-batch is normalised by itself, the same whatever rank it is on: leave "
        "one out");
  }
  if (codec_in(context)) refuse_option(values, "compression", "--reproducible needs the sums whole: leave one out");
}

}  // namespace

std::vector<Pair> pairs_of(int rank, int ranks) {
  std::vector<Pair> pairs;
  for (int bit = 1; bit < ranks; bit *= 2) pairs.push_back({std::min(rank, rank ^ bit), std::max(rank, rank ^ bit)});
  return pairs;
}

std::vector<OptionSpec> reproducible_options() {
  return {{"reproducible", OptionType::kFlag, "off",
           "give the same parameters, bit for bit, on every number of ranks that divides --micro-batches, if the batch "
           "of all ranks together is the same"},
          {"micro-batches", OptionType::kInteger, "8",
           "with --reproducible: number of parts of a step's total batch, whose gradients are summed in pairs; a power "
           "of two"}};
}

int micro_batches_in(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  if (!values.flag("reproducible")) {
    if (values.given("micro-batches"))
      refuse_option(values, "micro-batches", "it belongs to --reproducible: give it too");
    return 0;
  }
  const std::int64_t count = values.integer("micro-batches", 1, kMost);
  if (!is_power_of_two(count)) refuse_option(values, "micro-batches", "expected a power of two");
  const int ranks = context.transport.size();
  if (!is_power_of_two(ranks) || ranks > count) {
    refuse_option(values, "micro-batches",
                  std::to_string(ranks) +
                      " ranks do not divide them: start 1, 2, 4 ... ranks, at most as many as "
                      "there are micro-batches");
  }
  refuse_what_depends_on_ranks(values, context);
  return static_cast<int>(count);
}

std::string describe_micro_batches(int micro_batches, int ranks) {
  return "\nreproducible: g is summed in pairs from " + std::to_string(micro_batches) + " micro-batches, " +
         std::to_string(micro_batches / ranks) +
         " on each rank; 1, 2, 4 ... ranks with the same batch of all together end with the same bits";
}

}  // namespace eave
