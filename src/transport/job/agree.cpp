// How ranks agree, by small messages: agree, let_first_judge and combine_over_ranks (eave/transport.h).
#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/transport.h"
#include "transport/core/failure.h"

namespace eave {
namespace {

// Packs one rank's outcome of a stage: an empty text if it went well, else three lines with exit code, host and
// message.
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

// The text before the first line break.
int code_in(const std::string& text) {
  int code = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), code);
  EAVE_CHECK(read.ec == std::errc() && *read.ptr == '\n', "a failure begins with its code: the ranks are in step");
  return code;
}

Report unpack(int rank, const std::string& text) {
  const int code = code_in(text);
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  EAVE_CHECK(second != std::string::npos, "a failure has a code, a host and a message");
  return {rank, code, text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

constexpr std::size_t kMostNamed = 8;  // ranks or hosts named in one message

// "a, b, c", "a, b, c, d, e, f, g, h and 120 others"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNamed) text += " and " + count_text(names.size() - kMostNamed, "other");
  return text;
}

// "rank 3", "ranks 0, 1, 4"
std::string name_ranks(const std::vector<Report>& reports) {
  std::vector<std::string> ranks;
  for (const Report& report : reports) ranks.push_back(std::to_string(report.rank));
  return (reports.size() == 1 ? "rank " : "ranks ") + listed(ranks);
}

std::string name_hosts(const std::vector<Report>& reports) {
  std::vector<std::string> hosts;
  for (const Report& report : reports)
    if (std::ranges::find(hosts, report.host) == hosts.end()) hosts.push_back(report.host);
  return listed(hosts);
}

// The message of the lowest rank that failed, in full, then which other ranks failed and whether for the same reason.
std::string merge(const std::vector<Report>& reports, std::size_t ranks) {
  std::vector<Report> alike, otherwise;
  for (const Report& report : reports)
    (report.message == reports.front().message ? alike : otherwise).push_back(report);
  if (alike.size() == ranks) return alike.front().message;
  std::string text = name_ranks(alike) + " on " + name_hosts(alike) + ": ";
  text += alike.front().message;
  if (!otherwise.empty()) text += "; " + name_ranks(otherwise) + " failed too";
  return text;
}

// Throws the one error that all ranks are to throw. Returns if all outcomes are empty.
void throw_failures(const std::vector<std::string>& outcomes) {
  std::vector<Report> reports;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (!outcomes[rank].empty()) reports.push_back(unpack(static_cast<int>(rank), outcomes[rank]));
  if (reports.empty()) return;
  throw LinesError(static_cast<ExitCode>(reports.front().code), lines_in(merge(reports, outcomes.size())));
}

// Collective: runs `say` on rank 0. All ranks return what it returns, or throw what it throws.
std::string hear_first(Transport& transport, const std::function<std::string()>& say) {
  constexpr char kGood = '=', kBad = '!';
  std::string word;
  if (transport.rank() == 0) {
    const auto failure = failure_of([&] { word = kGood + say(); });
    if (failure) word = kBad + std::to_string(static_cast<int>(failure->code)) + "\n" + failure->message;
  }
  const std::string heard = transport.broadcast_text(word);
  if (heard.starts_with(kGood)) return heard.substr(1);
  EAVE_CHECK(heard.starts_with(kBad), "rank 0 says how a judgement ended: the ranks are in step");
  throw HeardError(static_cast<ExitCode>(code_in(heard.substr(1))), heard.substr(heard.find('\n') + 1));
}

std::string bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> doubles_of(const std::string& bytes) {
  EAVE_CHECK(bytes.size() % sizeof(double) == 0, "numbers of a rank have all their bytes");
  std::vector<double> values(bytes.size() / sizeof(double));
  std::ranges::copy(bytes, reinterpret_cast<char*>(values.data()));
  return values;
}

}  // namespace

void agree(Transport& transport, const std::function<void()>& stage) {
  const std::vector<std::string> outcomes = transport.gather(pack(failure_of(stage)));
  let_first_judge(transport, [&] { throw_failures(outcomes); });
}

void let_first_judge(Transport& transport, const std::function<void()>& judge) {
  hear_first(transport, [&] {
    judge();
    return std::string();
  });
}

std::vector<double> combine_over_ranks(Transport& transport, const std::vector<double>& mine,
                                       const std::function<std::vector<double>(const Rows&)>& combine) {
  Rows rows;
  for (const std::string& bytes : transport.gather(bytes_of(mine))) rows.push_back(doubles_of(bytes));
  return doubles_of(hear_first(transport, [&] { return bytes_of(combine(rows)); }));
}

std::vector<double> sum_over_ranks(Transport& transport, const std::vector<double>& mine) {
  return combine_over_ranks(transport, mine, [](const Rows& rows) {
    std::vector<double> sum(rows.front().size(), 0.0);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      const std::vector<double>& row = rows[rank];
      if (row.size() != sum.size())
        throw Error(ExitCode::kConfiguration, "rank 0 sums " + count_text(sum.size(), "number") + ", and rank " +
                                                  std::to_string(rank) + " " + std::to_string(row.size()) +
                                                  "; give equally many on all ranks");
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
    }
    return sum;
  });
}

}  // namespace eave
