// Which worker met each shard of a center when: what a free-running asynchronous run depends on beside its settings.
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
  std::int64_t exchanges = 0;        // of each shard
  std::vector<std::uint16_t> order;  // [shards][exchanges]: the worker's rank
};

// A line of text, a line of JSON, then `order` (a byte each up to 256 workers, else two, little end first) as zlib
// packs it. Holds a checksum.
std::string encode(const ExchangeLog& log);

// Throws Error: kInputMissing, kInputOutput; kBadData for what is not such a file, truncated or altered.
ExchangeLog read_exchange_log(const std::filesystem::path& path);

// Throws Error(kUsage) with the first setting that differs, when `log` is of a run with others.
void require_same_run(const ExchangeLog& log, const Settings& settings, std::int64_t workers,
                      const std::filesystem::path& path);

}  // namespace eave
