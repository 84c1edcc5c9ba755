// The settings of the methods with an asynchronous center: their options, and the lines of the card about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/center/center_shards.h"
#include "communicator/center/exchange_log.h"
#include "eave/communicator.h"

namespace eave {

struct AsyncSettings {
  int workers = 1;       // ranks 0 … workers - 1 train
  int center_ranks = 0;  // so many ranks after the workers keep the center; 0: the workers keep it
  std::int64_t tau = 1;
  // True: exchanges follow steps tau, 2 tau, … (counted from 1). False: they belong to steps t = 0, tau, 2 tau, … and
  // come before the update.
  bool after_steps = false;
  ExchangeOrder::Kind order = ExchangeOrder::Kind::kFree;
  std::size_t longest_shard = 0;  // parameters; 0: as in the log to replay
  std::int64_t first_step = 0, steps = 0;
  std::shared_ptr<const Codec> codec;      // for messages and replies; nullptr: none
  Settings settings;                       // the run's options, kept in its log
  std::shared_ptr<const ExchangeLog> log;  // the log to replay; nullptr: none
};

// --async-order, --replay, --shard-bytes, --center-ranks.
std::vector<OptionSpec> async_options();
// Throws Error(kUsage). For a file to replay it also throws kInputMissing and kBadData.
AsyncSettings resolve_async(const CommunicatorContext& context, std::int64_t tau, bool after_steps = false);
// --center-ranks of a job of `ranks` ranks. Throws Error(kUsage) if no rank would train.
int center_ranks_in(const OptionValues& values, int ranks);
// The card's lines about the order of exchanges, the owners of the center and compression.
std::string describe_async(const AsyncSettings& settings);

// The number of exchanges of one worker before step `step`, and in the whole run (0: not known).
std::int64_t exchanges_before(std::int64_t step, const AsyncSettings& settings);
std::int64_t exchanges_of_worker(const AsyncSettings& settings);

}  // namespace eave
