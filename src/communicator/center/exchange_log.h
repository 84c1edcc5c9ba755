// The log of an asynchronous run: the order in which workers met each shard of the center. A free run depends on this
// order and on its settings; --replay repeats it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace eave {

using Settings = std::vector<std::pair<std::string, std::string>>;  // option, value

struct ExchangeLog {
  Settings settings;
  std::int64_t workers = 0;
  std::int64_t shards = 0;
  std::int64_t exchanges = 0;        // exchanges of each shard
  std::vector<std::uint16_t> order;  // [shards][exchanges]: the worker's rank
};

// The file format: a line of text, a line of JSON with a checksum, then `order` as zlib compresses it. An entry of
// `order` has one byte up to 256 workers, otherwise two, the low byte first.
std::string encode(const ExchangeLog& log);

// Throws Error: kInputMissing, kInputOutput, or kBadData if the file is no such log, truncated or altered.
ExchangeLog read_exchange_log(const std::filesystem::path& path);

// Entry k, for k = 0 … exchanges of a worker: whether each shard had k exchanges with every worker, at some moment.
// Only then can all workers stop after k exchanges each.
std::vector<bool> even_exchanges(const ExchangeLog& log);

// Throws Error(kUsage) if `log` belongs to a run with other settings. The message names the first that differs.
void require_same_run(const ExchangeLog& log, const Settings& settings, std::int64_t workers,
                      const std::filesystem::path& path);

}  // namespace eave
