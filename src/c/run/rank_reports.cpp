#include "c/run/rank_reports.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace eave {

std::string pack(const RankReport& report, const std::vector<StepRecord>& records) {
  std::string packed(reinterpret_cast<const char*>(&report), sizeof report);
  packed.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(StepRecord));
  return packed;
}

RankReport report_in(const std::string& packed) {
  RankReport report;
  std::memcpy(&report, packed.data(), sizeof report);
  return report;
}

std::vector<StepRecord> records_in(const std::string& packed) {
  std::vector<StepRecord> records((packed.size() - sizeof(RankReport)) / sizeof(StepRecord));
  if (!records.empty())
    std::memcpy(records.data(), packed.data() + sizeof(RankReport), records.size() * sizeof(StepRecord));
  return records;
}

RankTotals::RankTotals(const std::vector<RankReport>& reports) {
  for (const RankReport& each : reports) {
    steps = std::max(steps, each.steps);
    samples = std::max(samples, each.samples);
    own_samples += each.own_samples;
  }
  samples += own_samples;
}

void RankTotals::share(Transport& transport) {
  std::ostringstream mine;
  mine << steps << ' ' << samples << ' ' << own_samples;
  std::istringstream(transport.broadcast_text(mine.str())) >> steps >> samples >> own_samples;
}

}  // namespace eave
