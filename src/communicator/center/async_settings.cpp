#include "communicator/center/async_settings.h"

#include <algorithm>
#include <filesystem>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "communicator/support/compression.h"

namespace eave {
namespace {

constexpr std::int64_t kSmallestShard = 16;

// Without options that were added to eave after the log was written, if they have their defaults: those change nothing.
Settings comparable_with(const ExchangeLog& log, const CommunicatorContext& context) {
  Settings settings = context.settings;
  std::erase_if(settings, [&](const auto& setting) {
    const bool logged = std::ranges::count(log.settings, setting.first, &Settings::value_type::first) != 0;
    return !logged && !context.values.given(setting.first);
  });
  return settings;
}

void read_replay(const CommunicatorContext& context, AsyncSettings& settings) {
  if (context.values.given("async-order")) {
    refuse_option(context.values, "async-order", "has no effect with --replay, which gives the order");
  }
  std::filesystem::path path = context.values.text("replay");
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= "exchanges.order";
  settings.log = std::make_shared<const ExchangeLog>(read_exchange_log(path));
  settings.order = ExchangeOrder::Kind::kReplay;
  require_same_run(*settings.log, comparable_with(*settings.log, context), settings.workers, path);
  const std::int64_t exchanges = exchanges_of_worker(settings) * settings.workers;
  const bool knows_length = context.steps > 0;  // eave compare makes a method before its run has one
  if (knows_length && settings.log->exchanges != exchanges) {
    refuse_option(context.values, "replay",
                  "it is the order of another run, of " + count_text(settings.log->exchanges, "exchange") +
                      ", and this one has " + std::to_string(exchanges));
  }
}

std::size_t longest_shard_in(const CommunicatorContext& context) {
  const std::int64_t shard = context.values.bytes("shard-bytes") / static_cast<std::int64_t>(sizeof(float));
  if (shard < kSmallestShard) refuse_option(context.values, "shard-bytes", "expected at least 64; 256KiB is usual");
  if (context.values.given("shard-bytes")) return static_cast<std::size_t>(shard);
  if (context.values.has("replay")) return 0;
  return std::min(static_cast<std::size_t>(shard), context.transport.request_length());
}

std::string describe_order(const AsyncSettings& settings) {
  switch (settings.order) {
    case ExchangeOrder::Kind::kRoundRobin:
      return "round-robin: workers 0, 1, 2 ... in turns, deterministic";
    case ExchangeOrder::Kind::kReplay:
      return "replayed from a former run";
    case ExchangeOrder::Kind::kFree:
      return "free: as workers come, logged for --replay";
  }
  return "";
}

}  // namespace

std::int64_t exchanges_before(std::int64_t step, const AsyncSettings& settings) {
  return (step + (settings.after_steps ? 0 : settings.tau - 1)) / settings.tau;
}

std::int64_t exchanges_of_worker(const AsyncSettings& settings) {
  if (settings.steps == 0) return 0;
  return exchanges_before(settings.steps, settings) - exchanges_before(settings.first_step, settings);
}

std::vector<OptionSpec> async_options() {
  return {{"async-order",
           OptionType::kText,
           "free",
           "free: workers exchange with the center as they come; round-robin: they take turns, which makes the run "
           "deterministic",
           {"free", "round-robin"}},
          {"replay", OptionType::kPath, "",
           "exchanges.order of an earlier run's directory, to repeat that run bit for bit"},
          {"shard-bytes", OptionType::kBytes, "256KiB",
           "largest shard of the center, which workers exchange shard by shard; shards get smaller, down to 16KiB, to "
           "spread the center evenly over its ranks. If links between hosts are slow, the default is 32KiB"},
          {"center-ranks", OptionType::kInteger, "0",
           "number of ranks that keep the center and do not train (the last ranks); 0: all ranks keep it and train"}};
}

int center_ranks_in(const OptionValues& values, int ranks) {
  const std::int64_t serving = values.integer("center-ranks", 0);
  if (serving < ranks) return static_cast<int>(serving);
  refuse_option(
      values, "center-ranks",
      "leaves no rank to train: the job has " + std::to_string(ranks) +
          (ranks > 1 ? "; give at most " + std::to_string(ranks - 1) : " and needs one more per center rank"));
}

int count_workers(const CommunicatorKind& kind, const OptionValues& values, int ranks) {
  const auto is_center_ranks = [](const OptionSpec& option) { return option.name == "center-ranks"; };
  if (std::ranges::none_of(kind.options, is_center_ranks)) return ranks;
  return ranks - center_ranks_in(values, ranks);
}

AsyncSettings resolve_async(const CommunicatorContext& context, std::int64_t tau, bool after_steps) {
  AsyncSettings settings;
  settings.tau = tau;
  settings.after_steps = after_steps;
  settings.center_ranks = center_ranks_in(context.values, context.transport.size());
  settings.workers = context.transport.size() - settings.center_ranks;
  settings.first_step = context.first_step;
  settings.steps = context.steps;
  settings.settings = context.settings;
  settings.longest_shard = longest_shard_in(context);
  if (context.values.text("async-order") == "round-robin") settings.order = ExchangeOrder::Kind::kRoundRobin;
  if (context.values.has("replay")) read_replay(context, settings);
  settings.codec =
      rounding_codec_in(context, "workers and center send each other parameters, which only rounding leaves usable");
  return settings;
}

std::string describe_async(const AsyncSettings& settings) {
  const int center_ranks = settings.center_ranks;
  const std::string size = settings.longest_shard > 0
                               ? "at most " + count_text(settings.longest_shard * sizeof(float), "byte")
                               : "that run's size",
                    shards = ", in shards of " + size + " dealt out";
  return "order of exchanges " + describe_order(settings) + "; center on " +
         (center_ranks == 0 ? "all ranks" + shards
          : center_ranks == 1
              ? "rank " + std::to_string(settings.workers) + ", which does not train" + shards
              : "ranks " + std::to_string(settings.workers) + " to " +
                    std::to_string(settings.workers + center_ranks - 1) + ", which do not train" + shards) +
         (settings.codec ? "\ncompressed, " + describe_codec(*settings.codec) +
                               "; what a worker sends and the center's reply are rounded, without error feedback"
                         : "");
}

}  // namespace eave
