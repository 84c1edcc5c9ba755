// What ranks settle between them with small messages.
#include <algorithm>

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

constexpr std::size_t kMostNamed = 8;  // ranks in one message

// "rank 3", "ranks 0, 1, 4", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 120 others"
std::string name_ranks(const std::vector<Report>& reports) {
  std::string text = reports.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(reports.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(reports[i].rank);
  if (reports.size() > kMostNamed) text += " and " + std::to_string(reports.size() - kMostNamed) + " others";
  return text;
}

// In full what the lowest rank says; who else failed, and whether alike.
std::string merge(const std::vector<Report>& reports, std::size_t ranks) {
  std::vector<Report> alike, otherwise;
  for (const Report& report : reports)
    (report.message == reports.front().message ? alike : otherwise).push_back(report);
  if (alike.size() == ranks) return alike.front().message;
  std::string text = name_ranks(alike) + (alike.size() == 1 ? " on " + alike.front().host : "") + ": ";
  text += alike.front().message;
  if (!otherwise.empty()) text += "; " + name_ranks(otherwise) + " failed too, for other reasons";
  return text;
}

}  // namespace

void agree(Transport& transport, const std::function<void()>& stage) {
  std::vector<Report> reports;
  const std::vector<std::string> outcomes = transport.all_gather(pack(failure_of(stage)));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (!outcomes[rank].empty()) reports.push_back(unpack(static_cast<int>(rank), outcomes[rank]));
  if (reports.empty()) return;
  throw AgreedError(static_cast<ExitCode>(reports.front().code), merge(reports, outcomes.size()));
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
