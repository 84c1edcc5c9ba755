#include "report/read/run_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "eave/check.h"
#include "report/page/page.h"
#include "report/read/step_line.h"
#include "report/record/metrics_writer.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

RunRecord read_back(const MadeRuns& place, const std::string& name = "run") {
  return read_metrics(place.path() / name / "metrics.jsonl");
}

std::string refusal_of(const std::string& metrics) {
  const MadeRuns place;
  place.write("run/metrics.jsonl", metrics);
  return error_of([&] { read_back(place); }).what();
}

std::string whole_run() {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5, 0.75}, .bytes = 600});
  return place.read("run/metrics.jsonl");
}

std::string header() {
  const std::string whole = whole_run();
  return whole.substr(0, whole.find('\n') + 1);
}

TEST(MetricsReader, has_what_the_writer_wrote) {
  const MadeRuns place;
  make_run(place, "run", {.communicator = "easgd", .ranks = 2, .accuracies = {0.5, 0.75}, .seconds = 4, .bytes = 600});
  const RunRecord run = read_back(place);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.settings.at("communicator"), "easgd");
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.workers, 2);
  ASSERT_EQ(run.evaluations.size(), 2u);
  EXPECT_EQ(run.evaluations[0].bytes, 300);
  EXPECT_EQ(run.evaluations[1].bytes, 600);
  EXPECT_EQ(run.evaluations[1].record.center.accuracy, 0.75);
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[1].bytes, 600);
  EXPECT_EQ(run.steps[1].loss, 0.25);
  EXPECT_EQ(run.shares.computing, 0.5);
  EXPECT_EQ(run.shares.waiting, 0.25);
  EXPECT_EQ(run.summary->seconds, 4);
}

TEST(MetricsReader, calls_a_run_interrupted_whose_last_line_was_torn) {
  const std::string whole = whole_run();
  const std::size_t end = whole.find("{\"type\":\"end\"");
  for (const std::size_t size : {end, end + 5, end - 1, end - 40}) {
    const MadeRuns place;
    place.write("run/metrics.jsonl", whole.substr(0, size));
    const RunRecord run = read_back(place);
    EXPECT_EQ(run.end, RunEnd::kInterrupted) << size;
    EXPECT_EQ(run.why, "neither an end nor a failure was recorded");
    EXPECT_EQ(run.evaluations.size(), size == end - 40 ? 1u : 2u) << size;
  }
}

TEST(MetricsReader, tells_a_divergence_and_leaving_on_request_from_other_failures) {
  for (const auto& [code, end] :
       {std::pair(76, RunEnd::kDiverged), {75, RunEnd::kInterrupted}, {69, RunEnd::kFailed}}) {
    const MadeRuns place;
    place.write("run/metrics.jsonl", header() + "{\"type\":\"failure\",\"code\":" + std::to_string(code) +
                                         ",\"message\":\"rank 1 is gone\"}\n");
    const RunRecord run = read_back(place);
    EXPECT_EQ(run.end, end) << code;
    EXPECT_EQ(run.why, "rank 1 is gone");
  }
}

TEST(MetricsReader, judges_a_resumed_run_by_its_last_part) {
  const std::string failed = header() + "{\"type\":\"failure\",\"code\":69,\"message\":\"rank 1 is gone\"}\n";
  const MadeRuns place;
  place.write("run/metrics.jsonl", failed + whole_run());
  EXPECT_EQ(read_back(place).end, RunEnd::kFinished);
  place.write("again/metrics.jsonl", failed + header());
  const RunRecord again = read_back(place, "again");
  EXPECT_EQ(again.end, RunEnd::kInterrupted);
  EXPECT_EQ(again.why, "neither an end nor a failure was recorded");
}

TEST(MetricsReader, knows_the_ranks_and_the_time_before_an_elastic_resume) {
  const MadeRuns place;
  make_run(place, "two", {.ranks = 2, .accuracies = {0.5}, .seconds = 4, .finishes = false});
  make_run(place, "three", {.ranks = 3, .accuracies = {0.5, 0.6}, .seconds = 12, .settings = {{"resume", "elastic"}}});
  EXPECT_EQ(read_back(place, "three").ranks_in_turn, std::vector<int>{3});
  EXPECT_EQ(read_back(place, "three").seconds_before, 0);
  place.write("both/metrics.jsonl", place.read("two/metrics.jsonl") + place.read("three/metrics.jsonl"));
  const RunRecord both = read_back(place, "both");
  EXPECT_EQ(both.ranks, 3);
  EXPECT_EQ(both.ranks_in_turn, (std::vector<int>{2, 3}));
  EXPECT_EQ(both.seconds_before, 4);
}

TEST(MetricsReader, knows_the_ranks_and_cores_of_each_host) {
  const MadeRuns place;
  RunHeader header;
  header.ranks.resize(3);
  const std::vector<std::string> hosts = {"a", "a", "b"}, cores = {"0-1", "2", "?"};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    header.ranks[rank].host = hosts[rank];
    header.ranks[rank].cores = cores[rank];
  }
  std::filesystem::create_directories(place.path() / "run");
  MetricsWriter(place.path() / "run" / "metrics.jsonl").write_header(header);
  const RunRecord run = read_back(place);
  ASSERT_EQ(run.ranks_of_hosts.size(), 1u);
  EXPECT_EQ(run.ranks_of_hosts.at("a").ranks, 2);
  EXPECT_EQ(run.ranks_of_hosts.at("a").cores, (std::set<int>{0, 1, 2}));
}

TEST(MetricsReader, knows_the_hosts_and_the_version_if_they_were_recorded) {
  const auto with = [](std::string metrics, const std::string& before, const std::string& after) {
    return metrics.replace(metrics.find(before), before.size(), after);
  };
  const std::string old = with(header(), "\"version\":\"\",", "");
  const MadeRuns place;
  place.write("old/metrics.jsonl", old);
  EXPECT_EQ(read_back(place, "old").version, "");
  EXPECT_TRUE(read_back(place, "old").hosts.empty());
  std::string both;
  for (const std::string host : {"a", "b"})
    both +=
        with(with(header(), "\"host\":\"\"", "\"host\":\"" + host + "\""), "\"version\":\"\"", "\"version\":\"0.1.0\"");
  place.write("resumed/metrics.jsonl", both);
  EXPECT_EQ(read_back(place, "resumed").version, "0.1.0");
  EXPECT_EQ(read_back(place, "resumed").hosts, (std::set<std::string>{"a", "b"}));
}

TEST(MetricsReader, names_the_line_and_the_reason_of_what_it_cannot_use) {
  EXPECT_EQ(refusal_of(""), "metrics.jsonl is empty: the run did not begin");
  EXPECT_EQ(refusal_of(header().substr(0, 50)), "metrics.jsonl has no whole line: the run did not begin");
  const std::string remedy = "; put back a copy of it, or train anew in another directory";
  EXPECT_EQ(refusal_of("garbage\n"), "metrics.jsonl line 1 is damaged: it is no JSON" + remedy);
  EXPECT_EQ(refusal_of("[1]\n"), "metrics.jsonl line 1 is damaged: it is a list, but must be an object" + remedy);
  EXPECT_EQ(refusal_of("{}\n"),
            "metrics.jsonl line 1 is damaged: it is no header, but must be: these are not the metrics of an eave run, "
            "or lines are missing" +
                remedy);
  EXPECT_EQ(refusal_of("{\"type\":\"header\",\"format\":3}\n"),
            "metrics.jsonl line 1: it says format 3; this eave reads format 1 to 2: use the eave that wrote it, or a "
            "newer one");
  EXPECT_EQ(refusal_of(header() + "{\"type\":\"step\",\"rank\":0\n" + header()),
            "metrics.jsonl line 2 is damaged: it is no JSON" + remedy);
  expect_parts(refusal_of(header() + "{\"type\":\"evaluation\"}\n"), {"line 2 is damaged: "});
  expect_parts(refusal_of(header() + "{\"type\":7}\n"), {"line 2 is damaged: type is 7, but must be a text"});
}

std::string step_text(const std::string& rank, const std::string& loss) {
  return "{\"type\":\"step\",\"rank\":" + rank + ",\"step\":1,\"samples\":8,\"epoch\":0.008,\"loss\":" + loss +
         ",\"learning_rate\":0.1,\"seconds\":2.5,\"computing\":1,\"exchanging\":0,\"waiting\":0,\"loading\":0,"
         "\"bytes\":64}\n";
}

TEST(MetricsReader, refuses_steps_of_ranks_that_the_run_does_not_have) {
  for (const std::string rank : {"1", "-1", "1e18", "null"}) {
    EXPECT_NE(refusal_of(header() + step_text(rank, "1")).find("metrics.jsonl line 2 is damaged: rank is "),
              std::string::npos)
        << rank;
  }
}

TEST(MetricsReader, passes_over_kinds_of_lines_that_it_does_not_know) {
  EXPECT_EQ(refusal_of(header() + "{\"type\":\"weather\",\"rain\":true}\n"), "");
}

TEST(MetricsReader, refuses_a_pipe_and_a_directory_rather_than_wait) {
  const MadeRuns place;
  place.write("run/x", "");
  ASSERT_EQ(::mkfifo((place.path() / "run/metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(read_back(place), Error);
  place.write("other/metrics.jsonl/x", "");
  EXPECT_THROW(read_back(place, "other"), Error);
}

TEST(MetricsReader, refuses_a_line_without_end_before_it_fills_the_memory) {
  EXPECT_EQ(refusal_of(header() + std::string(std::size_t{70} << 20, 'x')),
            "metrics.jsonl line 2 is longer than 64 MiB");
}

// Returns the text with random damage: one to four changed bytes, or a stretch that is removed or doubled.
std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::size_t at = below(text.size()), length = below(200);
  const std::size_t kind = below(4);
  if (kind == 0) return text.erase(at, length);
  if (kind == 1) return text.insert(at, text.substr(at, length));
  for (std::size_t i = below(4) + 1; i > 0; --i) text[below(text.size())] = "0123456789-.e\"{}[],:\n\0\xff"[below(24)];
  return text;
}

TEST(MetricsReader, reads_or_refuses_whatever_was_damaged) {
  const std::string whole = whole_run();
  std::mt19937 random(1);
  const MadeRuns place;
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    place.write("runs/run/metrics.jsonl", damaged(whole, random));
    const RunList list = read_runs({place.path() / "runs"});
    EXPECT_EQ(list.runs.size() + list.left_out.size(), 1u);
    report_page(compare_runs(list, {}), {"", "", ""});
    refused += static_cast<int>(list.left_out.size());
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 499);
}

TEST(StepLine, is_read_alike_in_the_short_way_and_as_json) {
  const std::string text = step_text("0", "1.25e-3");
  const auto quick = step_line(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(quick);
  EXPECT_EQ(quick->values, step_line(Json::parse(text)).values);
  EXPECT_EQ((*quick)[StepLine::kLoss], 1.25e-3);
  EXPECT_EQ((*quick)[StepLine::kBytes], 64);
  EXPECT_FALSE(step_line(std::string_view("{\"type\":\"step\", \"rank\":0}")));
}

std::string with_norm(const std::string& norm, const std::string& blank) {
  std::string text = step_text("0", "0.5");
  text.resize(text.rfind('}'));
  return text + "," + blank + "\"gradient_norm\":" + norm + "}\n";
}

TEST(StepLine, has_a_norm_of_the_gradient_from_0_to_1e39_in_both_ways) {
  for (const std::string blank : {"", " "}) {
    for (const std::string norm : {"0", "1.5", "null"}) {
      const std::string line = with_norm(norm, blank);
      const StepLine read = blank.empty() ? step_line(std::string_view(line).substr(0, line.size() - 1)).value()
                                          : step_line(Json::parse(line));
      EXPECT_EQ(read.gradient_norm, norm == "null" ? std::nullopt : std::optional(std::stod(norm))) << line;
      EXPECT_NO_THROW(check_ranges(read));
    }
    for (const std::string norm : {"-5", "1e300"}) {
      const std::string why = refusal_of(header() + with_norm(norm, blank));
      EXPECT_NE(why.find("gradient_norm is "), std::string::npos) << why;
    }
  }
}

TEST(MetricsReader, thins_steps_to_200_points_with_the_mean_of_their_losses) {
  const MadeRuns place;
  MadeRun many{.accuracies = {}};
  for (int i = 0; i < 1000; ++i) many.accuracies.push_back(i % 2 == 0 ? 0.25 : 0.75);  // losses 0.75 and 0.25
  make_run(place, "run", many);
  const RunRecord run = read_back(place);
  EXPECT_LE(run.steps.size(), 200u);
  EXPECT_GE(run.steps.size(), 100u);
  for (const StepPoint& point : run.steps) EXPECT_EQ(point.loss, 0.5);
  EXPECT_EQ(run.steps.back().step, 1000);
  EXPECT_EQ(run.evaluations.size(), 1000u);
}

TEST(MetricsReader, has_no_loss_where_a_rank_had_no_samples) {
  const MadeRuns place;
  place.write("run/metrics.jsonl", header() + step_text("0", "null"));
  EXPECT_TRUE(std::isnan(read_back(place).steps.at(0).loss));
}

TEST(RunList, names_what_it_leaves_out_and_reads_each_run_once) {
  const MadeRuns place;
  make_run(place, "b", {.accuracies = {0.5}});
  make_run(place, "a", {.accuracies = {0.5}});
  place.write("damaged/metrics.jsonl", "garbage\n");
  place.write("empty/notes.txt", "");
  place.write("table.csv", "");
  const RunList list = read_runs({place.path()});
  ASSERT_EQ(list.runs.size(), 2u);
  EXPECT_EQ(list.runs[0].name, "a");
  EXPECT_EQ(list.runs[1].name, "b");
  ASSERT_EQ(list.left_out.size(), 2u);
  EXPECT_EQ(list.left_out[0].name, "damaged");
  EXPECT_EQ(list.left_out[1].why, "no metrics.jsonl");
  EXPECT_EQ(read_runs({place.path(), place.path() / "a"}).runs.size(), 2u);
}

TEST(RunList, names_metrics_that_are_a_link_to_no_file) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}});
  place.write("b/notes.txt", "");
  std::filesystem::create_symlink("metrics.jsonl", place.path() / "b/metrics.jsonl");
  const RunList list = read_runs({place.path() / "a", place.path() / "b"});
  ASSERT_EQ(list.left_out.size(), 1u);
  EXPECT_TRUE(
      list.left_out[0].why.ends_with("b/metrics.jsonl is a symbolic link that leads to no file; put the file "
                                     "itself in its place"))
      << list.left_out[0].why;
}

TEST(RunList, names_a_directory_that_is_missing_and_leaves_it_out) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}});
  const RunList list = read_runs({place.path() / "missing", place.path() / "a"});
  EXPECT_EQ(list.runs.size(), 1u);
  ASSERT_EQ(list.left_out.size(), 1u);
  EXPECT_EQ(list.left_out[0].name, (place.path() / "missing").string());
  EXPECT_TRUE(list.left_out[0].why.starts_with("there is no such directory")) << list.left_out[0].why;
  EXPECT_EQ(list.left_out[0].code, ExitCode::kInputMissing);
}

}  // namespace
}  // namespace eave
