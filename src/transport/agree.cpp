// What ranks settle between them with small messages.
#include <algorithm>
#include <map>

#include "base/host.h"
#include "eave/transport.h"
#include "transport/failure.h"

namespace eave {
namespace {

// One rank's outcome of a stage as text: nothing when it went well, else three lines: exit code, host, message.
std::string pack(const std::optional<Failure>& failure) {
  if (!failure) return {};
  return std::to_string(static_cast<int>(failure->code)) + "\n" + host_name() + "\n" + failure->message;
}

struct Report {
  int rank;
  int code;
  std::string host;
  std::string message;
};

Report unpack(int rank, const std::string& text) {
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  return {rank, std::stoi(text), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

std::string who(const std::vector<Report>& reports) {
  if (reports.size() == 1) return "rank " + std::to_string(reports[0].rank) + " on " + reports[0].host;
  std::string text = "ranks";
  for (const Report& report : reports) text += (&report == &reports[0] ? " " : ", ") + std::to_string(report.rank);
  return text;
}

std::string merge(const std::vector<Report>& reports, int ranks) {
  std::map<std::string, std::vector<Report>> by_message;
  for (const Report& report : reports) by_message[report.message].push_back(report);
  const auto& [message, first] = *by_message.begin();
  if (first.size() == static_cast<std::size_t>(ranks)) return message;
  std::string text;
  for (const auto& [each, group] : by_message) text += (text.empty() ? "" : "\n") + who(group) + ": " + each;
  return text;
}

}  // namespace

void agree(Transport& transport, const std::function<void()>& stage) {
  std::vector<Report> reports;
  const std::vector<std::string> outcomes = transport.all_gather(pack(failure_of(stage)));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (!outcomes[rank].empty()) reports.push_back(unpack(static_cast<int>(rank), outcomes[rank]));
  if (reports.empty()) return;
  throw AgreedError(static_cast<ExitCode>(reports.front().code), merge(reports, transport.size()));
}

std::vector<double> sum_over_ranks(Transport& transport, const std::vector<double>& mine) {
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double));
  std::vector<double> sum(mine.size(), 0.0), theirs(mine.size());
  for (const std::string& other : transport.all_gather(bytes)) {
    EAVE_CHECK(other.size() == bytes.size(), "ranks sum different numbers of values");
    std::ranges::copy(other, reinterpret_cast<char*>(theirs.data()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += theirs[i];
  }
  return sum;
}

}  // namespace eave
