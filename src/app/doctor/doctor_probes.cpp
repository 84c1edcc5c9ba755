#include "app/doctor/doctor_probes.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "app/resume/checkpoint_location.h"
#include "base/files/file_errors.h"
#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "eave/check.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// How many names at the end of the path do not exist.
int count_missing(fs::path directory) {
  int missing = 0;
  std::error_code error;
  for (; !fs::exists(directory, error) && directory.has_relative_path(); ++missing) directory = directory.parent_path();
  return missing;
}

std::string why_unwritten(const OutputPath& file, const std::string& token) {
  try {
    write_file_atomically(file, token);
    return "";
  } catch (const Error& failure) {
    return failure.what();
  }
}

// A time in microseconds, with 16 bits in each value, which float32 holds exactly.
using ClockValues = std::array<float, 4>;

class ClockService final : public Service {
 public:
  explicit ClockService(const std::function<std::int64_t()>& microseconds) : microseconds_(microseconds) {}

 private:
  bool answer(int, std::int64_t, Slice values) override {
    const std::int64_t now = microseconds_();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(now >> (16 * i) & 0xffff);
    return true;
  }
  const std::function<std::int64_t()>& microseconds_;
};

std::int64_t microseconds_in(const ClockValues& values) {
  std::int64_t time = 0;
  for (std::size_t i = 0; i < values.size(); ++i) time |= static_cast<std::int64_t>(values[i]) << (16 * i);
  return time;
}

// Times sums over two ranks.
class LinkTrial {
 public:
  LinkTrial(Transport& transport, std::pair<int, int> pair) : transport_(transport), ranks_{pair.first, pair.second} {}

  LinkTime time() {
    constexpr double kEnoughSeconds = 0.1, kQuickSeconds = 0.01;
    time_sum(1);  // the first sum opens the connection
    const double first = shared(time_sum(1));
    const auto times = static_cast<int>(std::clamp(kEnoughSeconds / first, 3.0, 30.0));
    LinkTime link{ranks_[0], ranks_[1], median_time(times, 1), 0};
    std::size_t count = std::size_t{1} << 16;
    time_sum(count);
    if (shared(time_sum(count)) < kQuickSeconds) count <<= 4;
    link.bytes_per_second = static_cast<double>(count * sizeof(float)) / median_time(3, count);
    return link;
  }

 private:
  double time_sum(std::size_t count) {
    if (values_.size() < count) values_.resize(count);
    const Clock::time_point start = Clock::now();
    transport_.all_reduce_sum(Slice(values_).first(count), ranks_).wait();
    return seconds_since(start);
  }
  double median_time(int times, std::size_t count) {
    std::vector<double> seconds;
    for (int i = 0; i < times; ++i) seconds.push_back(time_sum(count));
    return median_of(seconds);
  }
  // The mean over both ranks. Both get the same number, and so decide alike.
  double shared(double seconds) {
    std::array<float, 1> sum{static_cast<float>(seconds)};
    transport_.all_reduce_sum(sum, ranks_).wait();
    return std::max(1e-9, static_cast<double>(sum[0]) / 2);
  }

  Transport& transport_;
  const std::array<int, 2> ranks_;
  std::vector<float> values_;
};

// Pairs each rank with each other by the circle method: one stays, the others rotate.
std::vector<Pairs> pair_all(std::vector<int> ranks, std::size_t most_rounds) {
  constexpr int kNobody = -1;
  if (ranks.size() % 2 == 1) ranks.push_back(kNobody);
  std::vector<Pairs> rounds;
  for (std::size_t round = 0; round + 1 < ranks.size() && round < most_rounds; ++round) {
    Pairs& pairs = rounds.emplace_back();
    for (std::size_t i = 0; i < ranks.size() / 2; ++i) {
      const auto [low, high] = std::minmax(ranks[i], ranks[ranks.size() - 1 - i]);
      if (low != kNobody) pairs.emplace_back(low, high);
    }
    std::rotate(ranks.begin() + 1, ranks.end() - 1, ranks.end());
  }
  return rounds;
}

}  // namespace

RunDirectoryFacts probe_run_directory(Transport& transport, const std::string& path) {
  const fs::path directory = whole_path(path);
  std::istringstream first(transport.all_gather(std::to_string(count_missing(directory)) + " " + make_token())[0]);
  int missing = 0;
  std::string token;
  first >> missing >> token;
  fs::path place = directory;
  for (int i = 0; i < missing; ++i) place = place.parent_path();
  const auto file_of = [&](int rank) {
    return (place / (".eave-doctor-" + token + "-" + std::to_string(rank))).string();
  };

  RunDirectoryFacts facts;
  facts.place = place.string();
  facts.why_not_written = why_no_directory(directory);  // a link without a target can never become a directory
  if (facts.why_not_written.empty()) facts.why_not_written = why_unwritten(file_of(transport.rank()), token);
  const bool is_written = transport.all_gather(facts.why_not_written)[0].empty();
  facts.sees_first_rank = !is_written || appears(file_of(0));
  struct statvfs system {};
  if (::statvfs(place.c_str(), &system) == 0)
    facts.free_bytes = static_cast<std::int64_t>(system.f_bavail) * static_cast<std::int64_t>(system.f_frsize);
  transport.all_gather("");  // every rank has looked by now
  if (facts.why_not_written.empty()) remove_output(file_of(transport.rank()));
  return facts;
}

std::int64_t system_microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Cristian's algorithm (1989): of several requests, the fastest gives the best estimate.
double measure_clock(Transport& transport, bool asks, const std::function<std::int64_t()>& microseconds) {
  constexpr int kTimes = 10;
  ClockService service(microseconds);
  transport.serve(transport.rank() == 0 ? &service : nullptr);
  double ahead = 0, quickest = std::numeric_limits<double>::infinity();
  for (int i = 0; asks && i < kTimes; ++i) {
    ClockValues values{};
    const std::array<ServiceRequest, 1> request{{{0, 0, values}}};
    const std::int64_t before = microseconds();
    transport.request(request).wait();
    const std::int64_t after = microseconds();
    const double took = static_cast<double>(after - before);
    if (took >= quickest) continue;
    quickest = took;
    ahead = 1e-6 * (static_cast<double>(before - microseconds_in(values)) + took / 2);
  }
  transport.serve(nullptr);
  return ahead;
}

std::vector<Pairs> plan_links(const std::vector<std::vector<int>>& by_host) {
  constexpr std::size_t kMostWithin = 8, kMostBetween = 16;
  std::vector<Pairs> rounds;
  for (std::size_t k = 0; k < kMostWithin; ++k) {
    Pairs pairs;
    for (const std::vector<int>& ranks : by_host) {
      if (k + 1 < ranks.size()) pairs.emplace_back(ranks[k], ranks[k + 1]);
    }
    if (!pairs.empty()) rounds.push_back(pairs);
  }
  std::vector<int> lowest;
  for (const std::vector<int>& ranks : by_host) lowest.push_back(ranks.front());
  for (const Pairs& pairs : pair_all(lowest, kMostBetween)) rounds.push_back(pairs);
  return rounds;
}

std::vector<LinkTime> measure_links(Transport& transport, const std::vector<Pairs>& rounds) {
  std::string mine;
  for (const Pairs& pairs : rounds) {
    transport.all_gather("");  // the last round has ended on all ranks
    const auto pair = std::ranges::find_if(
        pairs, [&](const auto& each) { return each.first == transport.rank() || each.second == transport.rank(); });
    if (pair == pairs.end()) continue;
    const LinkTime link = LinkTrial(transport, *pair).time();
    if (link.first != transport.rank()) continue;
    mine += format("%d %d %.9g %.9g\n", link.first, link.second, link.seconds, link.bytes_per_second);
  }
  std::vector<LinkTime> links;
  for (const std::string& text : transport.all_gather(mine)) {
    std::istringstream words(text);
    for (LinkTime link; words >> link.first >> link.second >> link.seconds >> link.bytes_per_second;)
      links.push_back(link);
  }
  return links;
}

}  // namespace eave
