#include "report/record/trace_file.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/files/output_file.h"
#include "report/record/json.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

struct Looks {
  const char* name;
  const char* category;
  int track;
};

constexpr std::array kTracks = {"computing", "communication", "waiting", "loading", "evaluation"};

// In the order of SpanKind.
constexpr std::array kLooks = {Looks{"wait for a batch", "loading", 4}, Looks{"forward and backward", "computing", 1},
                               Looks{"update", "computing", 1},         Looks{"slowed down", "computing", 1},
                               Looks{"wait for ranks", "waiting", 3},   Looks{"evaluation", "evaluation", 5},
                               Looks{"sum", "communication", 2},        Looks{"broadcast", "communication", 2},
                               Looks{"gather", "communication", 2},     Looks{"request", "communication", 2}};

double microseconds(std::int64_t nanoseconds) { return 1e-3 * static_cast<double>(nanoseconds); }

std::string event_of(const TraceSpan& span, std::size_t rank, std::int64_t zero) {
  const Looks& looks = kLooks.at(static_cast<std::size_t>(span.kind));
  return format(R"({"ph":"X","pid":%zu,"tid":%d,"ts":%.3f,"dur":%.3f,"name":"%s","cat":"%s","args":{"%s":%lld}})", rank,
                looks.track, microseconds(span.begin - zero), microseconds(span.end - span.begin), looks.name,
                looks.category, looks.track == 2 ? "bytes" : "step", static_cast<long long>(span.number));
}

std::string names_of(const RankTrace& trace, std::size_t rank) {
  const auto event = [rank](const char* name, int track, Json arguments) {
    return to_line({{"ph", "M"}, {"pid", rank}, {"tid", track}, {"name", name}, {"args", std::move(arguments)}});
  };
  std::string text = event("process_name", 0, {{"name", "rank " + std::to_string(rank) + " (" + trace.host + ")"}});
  text += ",\n" + event("process_sort_index", 0, {{"sort_index", rank}});
  for (std::size_t i = 0; i < kTracks.size(); ++i) {
    const int track = static_cast<int>(i) + 1;
    text += ",\n" + event("thread_name", track, {{"name", kTracks[i]}});
    text += ",\n" + event("thread_sort_index", track, {{"sort_index", track}});
  }
  return text;
}

std::int64_t earliest(const std::vector<RankTrace>& ranks) {
  std::int64_t zero = std::numeric_limits<std::int64_t>::max();
  for (const RankTrace& rank : ranks) {
    for (const auto* spans : {&rank.computing, &rank.communication}) {
      for (const TraceSpan& span : *spans) zero = std::min(zero, span.begin);
    }
  }
  return zero;
}

Json metadata_of(const std::vector<RankTrace>& ranks, const TraceGap& gap, std::int64_t zero) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    list.push_back({{"rank", rank},
                    {"host", ranks[rank].host},
                    {"clock_offset_us", microseconds(ranks[rank].clock_offset)},
                    {"clock_error_us", microseconds(ranks[rank].clock_error)}});
  }
  const Overlap overlap = overlap_of(ranks);
  const std::optional<double> share = overlap.share();
  Json metadata = {{"program", "eave"},
                   {"format", 1},
                   {"clock", "the steady clock of rank 0, from the first event on"},
                   {"ranks", list},
                   {"left_out", nullptr},
                   {"overlap",
                    {{"seconds_behind_computing", overlap.behind_computing},
                     {"seconds_in_training", overlap.in_training},
                     {"share", share ? Json(*share) : Json(nullptr)}}}};
  if (gap.end > gap.begin) {
    metadata["left_out"] = {
        {"events", gap.spans}, {"from_us", microseconds(gap.begin - zero)}, {"to_us", microseconds(gap.end - zero)}};
  }
  return metadata;
}

// Seconds that lie in both lists. The spans of each list are in order and do not overlap.
double common_seconds(const std::vector<TraceSpan>& one, const std::vector<TraceSpan>& other) {
  std::int64_t common = 0;
  for (auto a = one.begin(), b = other.begin(); a != one.end() && b != other.end();) {
    common += std::max<std::int64_t>(std::min(a->end, b->end) - std::max(a->begin, b->begin), 0);
    a->end < b->end ? ++a : ++b;
  }
  return 1e-9 * static_cast<double>(common);
}

}  // namespace

std::optional<double> Overlap::share() const {
  return in_training > 0 ? std::optional(behind_computing / in_training) : std::nullopt;
}

Overlap overlap_of(const std::vector<RankTrace>& ranks) {
  Overlap overlap;
  for (const RankTrace& rank : ranks) {
    std::vector<TraceSpan> waiting, computing, exchanges = rank.communication;
    std::erase_if(exchanges, [](const TraceSpan& span) { return span.kind == SpanKind::kGather; });
    for (const TraceSpan& span : rank.computing) {
      if (span.kind == SpanKind::kEvaluation) continue;
      (span.kind == SpanKind::kWaiting ? waiting : computing).push_back(span);
    }
    const double behind = common_seconds(exchanges, computing);
    overlap.behind_computing += behind;
    overlap.in_training += behind + common_seconds(exchanges, waiting);
  }
  return overlap;
}

void part_operations(std::vector<TraceSpan>& communication) {
  std::ranges::sort(communication, {}, &TraceSpan::end);
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (TraceSpan& span : communication) {
    span.begin = std::max(span.begin, end);
    end = span.end;
  }
}

void write_trace(const OutputPath& path, const std::vector<RankTrace>& ranks, const TraceGap& gap) {
  const std::int64_t zero = earliest(ranks);
  std::string text =
      "{\"displayTimeUnit\":\"ms\",\n\"metadata\":" + to_line(metadata_of(ranks, gap, zero)) + ",\n\"traceEvents\":[\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += (rank > 0 ? ",\n" : "") + names_of(ranks[rank], rank);
    for (const auto* spans : {&ranks[rank].computing, &ranks[rank].communication}) {
      for (const TraceSpan& span : *spans) text += ",\n" + event_of(span, rank, zero);
    }
  }
  write_file_atomically(path, text + "\n]}\n");
}

}  // namespace eave
