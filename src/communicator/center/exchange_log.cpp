#include "communicator/center/exchange_log.h"

#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/content_kind.h"
#include "base/files/input_file.h"
#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFirstLine = "eave exchange order 1\n";
constexpr std::int64_t kMostExchanges = std::int64_t{1} << 25;  // all shards together; eave keeps no longer log

std::string bytes_of(const ExchangeLog& log) {
  std::string bytes;
  for (const std::uint16_t worker : log.order) {
    bytes.push_back(static_cast<char>(worker & 0xff));
    if (log.workers > 256) bytes.push_back(static_cast<char>(worker >> 8));
  }
  return bytes;
}

std::uint32_t checksum_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string pack(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int result = compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                              reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()));
  EAVE_CHECK(result == Z_OK, "zlib packs the order of exchanges");
  packed.resize(size);
  return packed;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(ExitCode::kBadData,
              path.string() + ": " + what + "; give the file exchanges.order that the run to be repeated has left");
}

std::string unpack(const std::string& packed, std::size_t expected, const std::filesystem::path& path) {
  std::string bytes(expected, '\0');
  uLongf size = static_cast<uLongf>(expected);
  const int result = uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                reinterpret_cast<const Bytef*>(packed.data()), static_cast<uLong>(packed.size()));
  if (result != Z_OK || size != expected) fail(path, "truncated or damaged");
  return bytes;
}

ExchangeLog header_from(const Json& object) {
  ExchangeLog log;
  for (const auto& [name, value] : object.at("settings").items()) {
    log.settings.emplace_back(name, value.get<std::string>());
  }
  log.workers = integer_in<std::int64_t>(object.at("workers"));
  log.shards = integer_in<std::int64_t>(object.at("shards"));
  log.exchanges = integer_in<std::int64_t>(object.at("exchanges"));
  return log;
}

bool is_sane(const ExchangeLog& log) {
  return log.workers >= 1 && log.workers <= 65536 && log.shards >= 0 && log.exchanges >= 0 &&
         (log.shards == 0 || log.exchanges <= kMostExchanges / log.shards);
}

void take_order(const std::string& bytes, ExchangeLog& log, const std::filesystem::path& path) {
  const std::size_t width = log.workers > 256 ? 2 : 1;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    unsigned worker = static_cast<unsigned char>(bytes[at]);
    if (width == 2) worker |= static_cast<unsigned>(static_cast<unsigned char>(bytes[at + 1])) << 8;
    if (worker >= static_cast<unsigned>(log.workers)) fail(path, "names a worker that it does not have");
    log.order.push_back(static_cast<std::uint16_t>(worker));
  }
}

void require_equal_shares(const ExchangeLog& log, const std::filesystem::path& path) {
  if (log.exchanges % log.workers != 0) fail(path, "altered: some worker has too few exchanges in it");
  if (log.exchanges == 0) return;
  for (std::int64_t shard = 0; shard < log.shards; ++shard) {
    std::vector<std::int64_t> of_worker(static_cast<std::size_t>(log.workers));
    for (std::int64_t i = 0; i < log.exchanges; ++i)
      ++of_worker[log.order[static_cast<std::size_t>(shard * log.exchanges + i)]];
    for (const std::int64_t count : of_worker) {
      if (count * log.workers != log.exchanges) fail(path, "altered: some worker has too few exchanges in it");
    }
  }
}

[[noreturn]] void refuse_content(const std::filesystem::path& path) {
  const std::string found = describe_content(content_kind_of(path));
  fail(path, "not an order of exchanges" + (found.empty() ? "" : " (" + found + ")"));
}

}  // namespace

std::string encode(const ExchangeLog& log) {
  const std::string bytes = bytes_of(log), packed = pack(bytes);
  Json settings = Json::object();
  for (const auto& [name, value] : log.settings) settings[name] = value;
  const Json header = {{"workers", log.workers},
                       {"shards", log.shards},
                       {"exchanges", log.exchanges},
                       {"checksum", checksum_of(bytes)},
                       {"settings", settings}};
  return kFirstLine + header.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + packed;
}

ExchangeLog read_exchange_log(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  const std::size_t end = content.find('\n', kFirstLine.size());
  if (!content.starts_with(kFirstLine) || end == std::string::npos) refuse_content(path);
  ExchangeLog log;
  std::uint32_t checksum = 0;
  const std::string text = content.substr(kFirstLine.size(), end - kFirstLine.size());
  try {
    const Json header = parse_json(text);
    log = header_from(header);
    checksum = integer_in<std::uint32_t>(header.at("checksum"));
  } catch (const Json::exception&) {
    fail(path, "its header is damaged");
  }
  if (!is_sane(log)) fail(path, "its header is damaged");
  const auto expected = static_cast<std::size_t>(log.shards * log.exchanges * (log.workers > 256 ? 2 : 1));
  const std::string packed = content.substr(end + 1);
  // zlib compresses at most about 1 : 1030. A header that promises more is damaged, so this allocates no memory for it.
  if (expected / 1100 > packed.size()) fail(path, "truncated or damaged");
  const std::string bytes = unpack(packed, expected, path);
  if (checksum_of(bytes) != checksum) fail(path, "altered: its checksum does not fit");
  take_order(bytes, log, path);
  require_equal_shares(log, path);
  return log;
}

std::vector<bool> even_exchanges(const ExchangeLog& log) {
  const auto workers = static_cast<std::size_t>(log.workers), exchanges = static_cast<std::size_t>(log.exchanges);
  std::vector<bool> even(exchanges / workers + 1, true);
  for (std::size_t shard = 0; shard < static_cast<std::size_t>(log.shards); ++shard) {
    std::vector<std::size_t> done(workers);
    std::size_t most = 0;
    for (std::size_t i = 0; i < exchanges; ++i) {
      most = std::max(most, ++done[log.order[shard * exchanges + i]]);
      if ((i + 1) % workers == 0 && most > (i + 1) / workers) even[(i + 1) / workers] = false;
    }
  }
  return even;
}

void require_same_run(const ExchangeLog& log, const Settings& settings, std::int64_t workers,
                      const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& there, const std::string& here) {
    throw Error(ExitCode::kUsage, "--replay " + path.string() + ": it is the order of another run, " + there +
                                      ", and here it is " + here + "; repeat that run's settings");
  };
  if (log.workers != workers) refuse("with " + count_text(log.workers, "worker"), std::to_string(workers));
  for (const auto& [name, value] : log.settings) {
    const auto here = std::ranges::find(settings, name, [](const auto& setting) { return setting.first; });
    if (here == settings.end()) refuse("with --" + name + " " + value, "not given");
    if (here->second != value) refuse("with --" + name + " " + value, here->second);
  }
  for (const auto& [name, value] : settings) {
    const bool there = std::ranges::count(log.settings, name, &Settings::value_type::first) != 0;
    if (!there) refuse("without --" + name, value);
  }
}

}  // namespace eave
