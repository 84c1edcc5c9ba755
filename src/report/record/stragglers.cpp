#include "report/record/stragglers.h"

#include <algorithm>
#include <numeric>

#include "base/options/number_text.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr double kLittleShare = 0.02;
constexpr std::size_t kMostRows = 8;

double waiting_share(const RankTimes& times) {
  const double seconds = times.computing + times.loading + times.waiting;
  return seconds > 0 ? times.waiting / seconds : 0;
}

// Picks the ranks that others waited for longest. If all ranks fit into the table, they stay in rank order.
std::vector<std::size_t> rows_of(const std::vector<RankTimes>& times) {
  std::vector<std::size_t> rows(times.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (rows.size() <= kMostRows) return rows;
  std::ranges::stable_sort(rows, std::greater(), [&](std::size_t rank) { return times[rank].seconds_waited_for; });
  rows.resize(kMostRows);
  return rows;
}

std::string row(std::size_t rank, const std::string& host, const RankTimes& times) {
  return format("%4zu   %-20.20s   %9.2f s   %7.2f s   %7.2f s   %14.2f s   %8lld %-5s   %9.2f s\n", rank, host.c_str(),
                times.computing, times.loading, times.waiting, times.waiting_for_ranks,
                static_cast<long long>(times.times_waited_for), times.times_waited_for == 1 ? "time" : "times",
                times.seconds_waited_for);
}

// Names the rank that others waited for longest, if that time exceeds the time of all other ranks together.
std::string describe_slowest(const std::vector<RankTimes>& times, const std::vector<std::string>& hosts) {
  const auto worst = std::ranges::max_element(times, {}, [](const RankTimes& each) { return each.seconds_waited_for; });
  double seconds = 0;
  std::int64_t waits = 0;
  for (const RankTimes& each : times) {
    seconds += each.seconds_waited_for;
    waits += each.times_waited_for;
  }
  if (2 * worst->seconds_waited_for <= seconds) return "for different ranks; none caused more than half of it";
  const auto rank = static_cast<std::size_t>(worst - times.begin());
  return format("longest for rank %zu (%s): %.2f s of all %.2f s; it was the last in %lld of %s", rank,
                hosts[rank].c_str(), worst->seconds_waited_for, seconds,
                static_cast<long long>(worst->times_waited_for), count_text(waits, "wait").c_str());
}

}  // namespace

Stragglers::Stragglers(int workers, bool exchange_together)
    : workers_(workers),
      exchange_together_(exchange_together),
      times_(static_cast<std::size_t>(workers)),
      compared_waiting_(times_.size()),
      told_(times_.size()),
      waiting_at_the_end_(times_.size()) {}

void Stragglers::add(int rank, const std::vector<StepRecord>& records) {
  if (rank >= workers_) return;
  RankTimes& times = times_[static_cast<std::size_t>(rank)];
  for (const StepRecord& record : records) {
    times.computing += record.computing;
    times.loading += record.loading;
    times.exchanging += record.exchanging;
    times.waiting += record.waiting;
    waiting_at_the_end_[static_cast<std::size_t>(rank)] = record.waiting;
    if (exchange_together_) compare(rank, record.waiting);
  }
  close_complete();
}

void Stragglers::meet() {
  if (exchange_together_) return;
  const bool all_came = std::ranges::all_of(waiting_at_the_end_, [](const auto& each) { return each.has_value(); });
  for (int rank = 0; all_came && rank < workers_; ++rank)
    compare(rank, *waiting_at_the_end_[static_cast<std::size_t>(rank)]);
  std::ranges::fill(waiting_at_the_end_, std::nullopt);
  close_complete();
}

void Stragglers::compare(int rank, double waiting) {
  const std::int64_t number = told_[static_cast<std::size_t>(rank)]++;
  const auto place = static_cast<std::size_t>(number - intervals_);
  if (place == open_.size()) open_.emplace_back();
  Interval& interval = open_[place];
  compared_waiting_[static_cast<std::size_t>(rank)] += waiting;
  interval.sum += waiting;
  if (interval.ranks++ == 0 || waiting < interval.least) {
    interval.least = waiting;
    interval.last_rank = rank;
  }
}

void Stragglers::close_complete() {
  for (; !open_.empty() && open_.front().ranks == workers_; open_.pop_front()) {
    const Interval& interval = open_.front();
    const double waited = interval.sum - workers_ * interval.least;
    RankTimes& times = times_[static_cast<std::size_t>(interval.last_rank)];
    if (waited > 0) ++times.times_waited_for;
    times.seconds_waited_for += std::max(waited, 0.0);
    least_ += interval.least;
    ++intervals_;
  }
}

std::vector<RankTimes> Stragglers::times() const {
  std::vector<RankTimes> times = times_;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    times[rank].waiting_for_ranks = std::max(compared_waiting_[rank] - least_, 0.0);
  }
  return times;
}

std::string describe_stragglers(const Stragglers& stragglers, const std::vector<std::string>& hosts,
                                std::int64_t steps_per_interval) {
  const std::vector<RankTimes> times = stragglers.times();
  if (times.size() < 2 || stragglers.intervals() == 0) return "";
  const double most = waiting_share(*std::ranges::max_element(times, {}, waiting_share));
  if (most <= kLittleShare) return format("\nno rank waited for more than %.1f %% of its time\n", 100 * most);
  std::string table =
      "\nrank   host                     computing     loading     waiting   for slower ranks   others waited for it\n";
  for (const std::size_t rank : rows_of(times)) table += row(rank, hosts.at(rank), times[rank]);
  if (times.size() > kMostRows)
    table += "       and " + count_text(std::ssize(times) - static_cast<std::ptrdiff_t>(kMostRows), "more rank") + "\n";
  table += "ranks waited " + describe_slowest(times, hosts);
  if (steps_per_interval > 1) {
    table += format("; by intervals of %lld steps (--log-every)", static_cast<long long>(steps_per_interval));
  }
  return table + "\n";
}

}  // namespace eave
