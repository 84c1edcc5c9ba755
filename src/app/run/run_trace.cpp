#include "app/run/run_trace.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace eave {
namespace {

constexpr std::size_t kMostSpans = 400'000;  // of all ranks together
constexpr std::size_t kLeastSpans = 2'000;   // of each buffer

std::size_t spans_of_buffer(int ranks) {
  return std::max(kMostSpans / 2 / static_cast<std::size_t>(ranks), kLeastSpans);
}

// The content of one buffer, as a rank sends it to rank 0.
struct Kept {
  std::int64_t left_out = 0;  // number of spans left out between `first` and `last`
  std::vector<TraceSpan> first, last;
};
using Buffers = std::array<Kept, 2>;  // the buffers for computing and for communication

Kept kept_in(const TraceBuffer& buffer) { return {buffer.left_out(), buffer.first(), buffer.last()}; }

void append(std::string& text, const void* bytes, std::size_t size) {
  text.append(static_cast<const char*>(bytes), size);
}

std::string pack(const Buffers& buffers) {
  std::string text;
  for (const Kept& kept : buffers) {
    const std::array<std::int64_t, 3> counts = {kept.left_out, std::ssize(kept.first), std::ssize(kept.last)};
    append(text, counts.data(), sizeof counts);
    append(text, kept.first.data(), kept.first.size() * sizeof(TraceSpan));
    append(text, kept.last.data(), kept.last.size() * sizeof(TraceSpan));
  }
  return text;
}

void take(const char*& from, void* into, std::size_t size) {
  if (size > 0) std::memcpy(into, from, size);
  from += size;
}

Buffers unpack_buffers(const std::string& text) {
  Buffers buffers;
  const char* from = text.data();
  for (Kept& kept : buffers) {
    std::array<std::int64_t, 3> counts{};
    take(from, counts.data(), sizeof counts);
    kept.left_out = counts[0];
    kept.first.resize(static_cast<std::size_t>(counts[1]));
    kept.last.resize(static_cast<std::size_t>(counts[2]));
    take(from, kept.first.data(), kept.first.size() * sizeof(TraceSpan));
    take(from, kept.last.data(), kept.last.size() * sizeof(TraceSpan));
  }
  return buffers;
}

// Converts times on a rank's clock to rank 0's clock. The offset is interpolated linearly between the two measurements.
class ClockMap {
 public:
  ClockMap(std::int64_t began, ClockOffset first, std::int64_t ended, ClockOffset last)
      : began_(began), first_(first.nanoseconds) {
    if (ended > began) slope_ = static_cast<double>(last.nanoseconds - first_) / static_cast<double>(ended - began);
  }
  std::int64_t operator()(std::int64_t time) const {
    return time - first_ - static_cast<std::int64_t>(slope_ * static_cast<double>(time - began_));
  }

 private:
  std::int64_t began_, first_;
  double slope_ = 0;
};

// Widens the gap to include what one buffer left out. The gap applies to all tracks, because a rank without spans in it
// would seem idle.
void widen(TraceGap& gap, const Kept& kept) {
  if (kept.left_out == 0) return;
  const std::int64_t begin = kept.first.back().end, end = kept.last.front().begin;
  gap.begin = gap.end == 0 ? begin : std::min(gap.begin, begin);
  gap.end = std::max(gap.end, end);
  gap.spans += kept.left_out;
}

std::vector<TraceSpan> outside(const Kept& kept, TraceGap& gap) {
  std::vector<TraceSpan> spans;
  for (const auto* part : {&kept.first, &kept.last}) {
    for (const TraceSpan& span : *part) {
      if (span.end > gap.begin && span.begin < gap.end) {
        ++gap.spans;
      } else {
        spans.push_back(span);
      }
    }
  }
  return spans;
}

void align(Buffers& buffers, const ClockMap& map) {
  for (Kept& kept : buffers) {
    for (auto* part : {&kept.first, &kept.last}) {
      for (TraceSpan& span : *part) span.begin = map(span.begin), span.end = map(span.end);
    }
  }
}

}  // namespace

RunTrace::RunTrace(int ranks) : computing_(spans_of_buffer(ranks)), communication_(spans_of_buffer(ranks)) {}

void RunTrace::begin(Transport& transport) {
  offsets_ = measure_clock_offsets(transport);
  began_ = steady_nanoseconds();
}

std::optional<double> RunTrace::end(Transport& transport, const std::vector<std::string>& hosts) {
  Buffers mine = {kept_in(computing_), kept_in(communication_)};
  const std::vector<ClockOffset> offsets = measure_clock_offsets(transport);
  const auto rank = static_cast<std::size_t>(transport.rank());
  align(mine, ClockMap(began_, offsets_[rank], steady_nanoseconds(), offsets[rank]));
  std::vector<Buffers> all;
  for (const std::string& text : transport.gather(pack(mine))) {
    all.push_back(unpack_buffers(text));
    for (const Kept& kept : all.back()) widen(gap_, kept);
  }
  if (all.empty()) return std::nullopt;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ranks_.push_back({hosts.at(i), offsets_[i].nanoseconds, std::max(offsets_[i].error, offsets[i].error),
                      outside(all[i][0], gap_), outside(all[i][1], gap_)});
    part_operations(ranks_.back().communication);
  }
  return overlap_of(ranks_).share();
}

void RunTrace::write(const OutputPath& path) const { write_trace(path, ranks_, gap_); }

}  // namespace eave
