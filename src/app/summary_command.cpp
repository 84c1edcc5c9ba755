#include <cstdio>
#include <filesystem>

#include "app/commands.h"
#include "app/launch.h"
#include "eave/check.h"
#include "report/summary.h"

namespace eave {
namespace {

constexpr const char* kUsage =
    "usage: eave summary RUN_DIR... [--json FILE]\n\n"
    "Prints one table with a row per run. --json writes the rows to FILE as an array.\n";

struct Request {
  std::vector<std::filesystem::path> directories;
  std::string json;
};

Request read_request(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--json") {
      if (++i == words.size()) throw Error(ExitCode::kUsage, "--json needs a file name");
      request.json = words[i];
    } else if (words[i].starts_with("-")) {
      throw Error(ExitCode::kUsage, "unknown option " + words[i] + "; expected RUN_DIR... [--json FILE]");
    } else {
      request.directories.emplace_back(words[i]);
    }
  }
  if (request.directories.empty())
    throw Error(ExitCode::kUsage, "no run directory given; expected RUN_DIR... [--json FILE]");
  return request;
}

}  // namespace

int summary_command(const std::vector<std::string>& words, const char* const*) {
  Request request;
  const auto summarise = [&] {
    std::vector<RunSummary> rows;
    for (const std::filesystem::path& directory : request.directories)
      rows.push_back(read_summary(directory / "summary.json"));
    std::fputs(summary_table(rows).c_str(), stdout);
    if (!request.json.empty()) write_summaries(request.json, rows);
  };
  return run_command(
      "summary", words, kUsage, [&] { request = read_request(words); }, [&] { return run_once("summary", summarise); });
}

}  // namespace eave
