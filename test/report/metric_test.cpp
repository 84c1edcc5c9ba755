// Runs with another metric than accuracy: their files, and what reports say of them.
#include "report/record/metric.h"

#include <gtest/gtest.h>

#include "base/options/option_values.h"
#include "report/compare/comparison.h"
#include "report/page/page_data.h"
#include "report/record/reopened_run.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"
#include "report/text/progress.h"
#include "report/text/report_tables.h"
#include "report/text/terminal.h"
#include "report/watch/watch_screen.h"
#include "report/watch/watched_run.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

const Metric kPerplexity{"perplexity", true};

std::string metrics_of(const Metric& metric) {
  const MadeRuns place;
  make_run(place, "run", {.metric = metric, .accuracies = {30, 17.5}});
  return place.read("run/metrics.jsonl");
}

// A run on text whose samples have 64 tokens.
MadeRun of_text(const std::vector<double>& perplexities) {
  return {.metric = kPerplexity, .accuracies = perplexities, .tokens_per_sample = 64};
}

std::string refusal_of_metrics(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from, text.find('\n') + 1);
  EXPECT_NE(at, std::string::npos);
  const MadeRuns place;
  place.write("run/metrics.jsonl", text.replace(at, from.size(), to));
  return error_of([&] { read_metrics(place.path() / "run/metrics.jsonl"); }).what();
}

void make_perplexities(const MadeRuns& place) {
  make_seeds(place, "a", {.metric = kPerplexity, .accuracies = {30, 18}}, 3, 0.1);
  make_seeds(place, "b", {.communicator = "easgd", .metric = kPerplexity, .accuracies = {30, 17}}, 3, 0.1);
}

TEST(MetricFiles, are_summed_up_in_columns_that_stay_aligned_if_a_name_is_not_ascii) {
  RunSummary summary;
  summary.communicator = "allreduce";
  summary.evaluation.metric = {"\xc3\xbcn\xc3\xaf-code", false};  // ünï-code
  const std::string table = summary_table({summary});
  std::vector<std::size_t> widths;
  for (const std::string& line : split_text(table, '\n')) {
    if (!line.empty()) widths.push_back(count_characters(line));
  }
  EXPECT_EQ(widths, std::vector<std::size_t>(3, widths.front())) << table;
}

TEST(MetricFiles, have_format_2_and_read_back_as_they_were_written) {
  const std::string text = metrics_of(kPerplexity);
  EXPECT_NE(text.find(R"("format":2)"), std::string::npos);
  EXPECT_EQ(text.find("accuracy"), std::string::npos);
  const MadeRuns place;
  place.write("run/metrics.jsonl", text);
  const RunRecord run = read_metrics(place.path() / "run/metrics.jsonl");
  EXPECT_EQ(run.metric, kPerplexity);
  EXPECT_EQ(run.evaluations.back().record.center.accuracy, 17.5);
  EXPECT_EQ(run.summary->evaluation.metric, kPerplexity);
  const std::string summary = summary_text(*run.summary);
  EXPECT_NE(summary.find(R"("test_score":17.5)"), std::string::npos);
  EXPECT_EQ(summary_text(summary_of(summary, "here")), summary);
}

TEST(MetricFiles, of_accuracy_keep_format_1) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5}});
  const std::string text = place.read("run/metrics.jsonl");
  EXPECT_NE(text.find(R"("format":1)"), std::string::npos);
  EXPECT_EQ(text.find("metric"), std::string::npos);
  EXPECT_EQ(text.find("score"), std::string::npos);
}

TEST(MetricFiles, of_a_run_are_not_gone_on_with_by_another_metric) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5}, .finishes = false});
  const std::string before = place.read("run/metrics.jsonl");
  expect_error(ExitCode::kBadData,
               "this run was judged by accuracy, and this version of eave judges it by perplexity: go on with the "
               "version that began it",
               [&] { reopen_run_directory(OutputFolder(place.path() / "run"), {.metric = kPerplexity}); });
  EXPECT_EQ(place.read("run/metrics.jsonl"), before);
}

TEST(MetricFiles, are_refused_if_the_lines_disagree_about_the_metric) {
  const std::string text = metrics_of(kPerplexity);
  const std::string evaluation = R"("metric":{"name":"perplexity","better":"lower"}})"
                                 "\n";
  EXPECT_NE(refusal_of_metrics(text, evaluation,
                               R"("metric":{"name":"bleu","better":"lower"}})"
                               "\n")
                .find("metric.name is 'bleu', but must be 'perplexity', as in the header"),
            std::string::npos);
  EXPECT_NE(refusal_of_metrics(text, R"("better":"lower")", R"("better":"less")")
                .find("metric.better is 'less', but must be 'lower' or 'higher'"),
            std::string::npos);
  EXPECT_NE(refusal_of_metrics(text, R"("format":2)", R"("format":3)").find("this eave reads format 1 to 2"),
            std::string::npos);
}

TEST(MetricVerdict, counts_tokens_where_windows_differ) {
  const MadeRuns place;
  MadeRun longer = of_text({30, 17});
  longer.communicator = "easgd";
  longer.tokens_per_sample = 128;
  longer.samples = 500;
  make_run(place, "a", of_text({30, 18}));
  make_run(place, "b", longer);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.tokens_per_sample, 1);
  for (const Variant& variant : comparison.variants) {
    EXPECT_EQ(variant.samples->mean, 64000);
    EXPECT_EQ(variant.samples_per_second->mean, 8000) << "in 8 s";
  }
  EXPECT_EQ(comparison.runs[1].evaluations.back().record.samples, 64000);
  EXPECT_NE(report_text(comparison).find("tokens/s"), std::string::npos);
  EXPECT_NE(comparison.notes.at(0).find("perplexity on one says nothing of that on another"), std::string::npos);
}

TEST(MetricVerdict, refuses_a_perplexity_below_1) {
  const MadeRuns place;
  make_perplexities(place);
  expect_error(ExitCode::kUsage, "--target 0.9: expected at least 1, as the runs have a perplexity",
               [&] { compare_runs(read_made(place), 0.9); });
}

// The values are 18.0, 18.1, 18.2 and 17.0, 17.1, 17.2.
TEST(MetricVerdict, names_the_method_with_the_lower_value_as_winner) {
  const MadeRuns place;
  make_perplexities(place);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.verdict.at(0),
            "With one rank and batch 10, easgd won: test perplexity 17.10 after 1 epoch (95 % interval 16.85 to 17.35, "
            "3 seeds), 1.00 less than allreduce (1.00 to 1.00, p < 0.001).");
  EXPECT_EQ(comparison.target->accuracy, 18.2);
  EXPECT_EQ(comparison.target->chosen_by, "the lowest that every finished run of every chosen variant reached");
  EXPECT_NE(comparison.verdict.at(1).find("easgd was the fastest to test perplexity 18.2"), std::string::npos)
      << comparison.verdict.at(1);
}

TEST(MetricVerdict, chooses_the_learning_rate_with_the_lower_validation_value) {
  const MadeRuns place;
  make_run(place, "slow", {.metric = kPerplexity, .accuracies = {20}, .validation = {21}});
  make_run(place, "fast", {.metric = kPerplexity, .accuracies = {25}, .validation = {19}, .settings = {{"lr", "0.5"}}});
  const Comparison comparison = compare_runs(read_made(place), {});
  for (const Variant& variant : comparison.variants) EXPECT_EQ(variant.chosen, variant.learning_rate == 0.5);
  EXPECT_EQ(comparison.variants[0].why_chosen, "learning rate 0.5 did better, by validation perplexity");
}

TEST(MetricVerdict, interpolates_the_cost_to_a_target_below) {
  const MadeRuns place;
  make_run(place, "run", {.metric = kPerplexity, .accuracies = {40, 20}, .seconds = 8});
  const auto reached = reach(read_made(place).runs.at(0), 30);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->seconds, 6);
}

TEST(MetricReport, leaves_out_runs_of_another_metric) {
  const MadeRuns place;
  make_run(place, "a", {.metric = kPerplexity, .accuracies = {20}});
  make_run(place, "b", {.accuracies = {0.5}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.runs.size(), 1u);
  EXPECT_EQ(comparison.left_out.at(0).why,
            "its metric is accuracy, higher is better; that of the first run is perplexity, lower is better: report "
            "them apart");
}

TEST(MetricReport, shows_the_metric_by_its_name_everywhere) {
  const MadeRuns place;
  make_perplexities(place);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_NE(report_text(comparison).find("test perplexity"), std::string::npos);
  EXPECT_EQ(report_text(comparison).find("accuracy"), std::string::npos);
  EXPECT_NE(report_text(comparison).find("17.1 +- 0.25"), std::string::npos) << report_text(comparison);
  EXPECT_NE(variants_csv(comparison).find(",test_perplexity,"), std::string::npos);
  EXPECT_NE(runs_csv(comparison).find(",test_perplexity,test_loss"), std::string::npos);
  EXPECT_NE(metrics_csv(comparison).find(",center_perplexity,"), std::string::npos);
  EXPECT_EQ(page_data(comparison, {}).at("metric").dump(), R"({"name":"perplexity","better":"lower"})");
  const std::string table = summary_table({*comparison.runs.front().summary});
  EXPECT_NE(table.find("test perplexity"), std::string::npos);
  EXPECT_NE(table.find("             18  "), std::string::npos) << table;
}

TEST(MetricReport, of_mixed_summaries_names_the_metric_in_each_row) {
  const MadeRuns place;
  make_run(place, "a", {.metric = kPerplexity, .accuracies = {20}});
  make_run(place, "b", {.accuracies = {0.5}});
  std::vector<RunSummary> rows;
  for (const RunRecord& run : read_made(place).runs) rows.push_back(*run.summary);
  const std::string table = summary_table(rows);
  EXPECT_NE(table.find("perplexity 20 "), std::string::npos) << table;
  EXPECT_NE(table.find("accuracy 50.00 % "), std::string::npos) << table;
}

TEST(MetricReport, keeps_the_table_of_accuracies) {
  const MadeRuns place;
  make_run(place, "b", {.accuracies = {0.5}});
  const std::string table = summary_table({*read_made(place).runs.front().summary});
  EXPECT_TRUE(table.starts_with(
      "method     ranks  test accuracy  steps  samples  epochs  seconds  samples/s  bytes/rank  waiting\n"
      "---------  -----  -------------  -----  -------  ------  -------  ---------  ----------  -------\n"
      "allreduce      1        50.00 %    100     1000       1      8.0"))
      << table;
}

TEST(MetricReport, fits_100_columns_with_long_names_and_many_samples) {
  const MadeRuns place;
  make_run(place, "b", {.accuracies = {0.5}});
  RunSummary summary = *read_made(place).runs.front().summary;
  summary.communicator = "easgd-async";
  summary.steps = 99999;
  summary.samples = 60000000;
  summary.seconds = 86400;
  summary.bytes_per_rank = 1234567890123;
  EXPECT_LE(summary_table({summary}).find('\n'), 100u) << summary_table({summary});
}

WatchedRun watched(const std::string& text) {
  WatchedRun run;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    run.take(text.substr(begin, text.find('\n', begin) - begin));
  return run;
}

TEST(MetricReport, is_watched_by_name) {
  const WatchedRun run = watched(metrics_of(kPerplexity));
  EXPECT_EQ(run.damage(), "");
  EXPECT_NE(evaluation_line(run.evaluations().back()).find("test perplexity 17.5  test loss"), std::string::npos);
  EXPECT_EQ(run.accuracies().back().y, 17.5);
}

TEST(TextRuns, keep_tokens_labels_and_bits_per_byte_in_their_files) {
  const MadeRuns place;
  make_run(place, "run", of_text({30, 17.5}));
  const RunRecord run = read_metrics(place.path() / "run/metrics.jsonl");
  EXPECT_EQ(run.tokens_per_sample, 64);
  EXPECT_EQ(run.test_labels, 6400);
  EXPECT_EQ(run.summary->tokens, 64000);
  EXPECT_EQ(run.summary->evaluation.bits_per_byte, 2.5);
  const std::string told = describe_test(run.summary->evaluation);
  EXPECT_NE(told.find("  2.5 bits per byte  moving average 17.5"), std::string::npos) << told;
  const std::string summary = summary_text(*run.summary);
  EXPECT_NE(summary.find(R"("tokens":64000,"tokens_per_second":8000.0)"), std::string::npos) << summary;
  EXPECT_EQ(summary_text(summary_of(summary, "here")), summary);
}

TEST(TextRuns, are_told_of_in_tokens) {
  const MadeRuns place;
  make_seeds(place, "a", of_text({30, 18}), 3, 0.1);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.tokens_per_sample, 64);
  const std::string report = report_text(comparison);
  EXPECT_NE(report.find("tokens/s"), std::string::npos) << report;
  EXPECT_NE(report.find(" 8000 "), std::string::npos) << report;
  EXPECT_EQ(report.find("samples/s"), std::string::npos) << report;
  EXPECT_EQ(page_data(comparison, {}).at("tokens_per_sample"), 64);
  const std::string table = summary_table({*comparison.runs.front().summary});
  const std::string variants = variants_csv(comparison), runs = runs_csv(comparison);
  EXPECT_EQ(variants.find("samples"), std::string::npos) << variants;
  EXPECT_NE(variants.find(",tokens_per_second,"), std::string::npos) << variants;
  EXPECT_NE(variants.find(",64000,"), std::string::npos) << variants;
  EXPECT_NE(runs.find(",64000,8000,"), std::string::npos) << runs;
  const std::string metrics = metrics_csv(comparison);
  EXPECT_NE(metrics.find(",ema_loss,ema_perplexity,bits_per_byte,gradient_norm\r\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(",3.5,18,2.5,\r\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(",,,,1.25\r\n"), std::string::npos) << metrics;
  EXPECT_EQ(table.find("samples"), std::string::npos) << table;
  EXPECT_NE(table.find("  64000 "), std::string::npos) << table;
  EXPECT_NE(table.find("  8000 "), std::string::npos) << table;
  const WatchedRun run = watched(place.read("a-seed1/metrics.jsonl"));
  EXPECT_NE(watch_line(run).find("8000 tokens/s"), std::string::npos) << watch_line(run);
}

TEST(Summaries, tell_below_the_table_what_has_no_column_in_it) {
  const MadeRuns place;
  make_run(place, "a", of_text({30, 18}));
  RunSummary text = *read_made(place).runs.front().summary, images = text;
  text.evaluation.center.loss = 2.5;
  text.evaluation.ema = ModelScore{2.4, 17.5};
  text.flops_per_core = 41.2e9;
  EXPECT_EQ(detail_lines({text}),
            "test loss 2.5000, 2.5 bits per byte; 41.2 GFLOP/s per core; moving average of the consensus: test "
            "perplexity 17.5\n");
  images.tokens = 0;
  images.evaluation.metric = {};
  images.evaluation.ema = ModelScore{0.5, 0.842};
  images.communicator = "easgd";
  EXPECT_EQ(detail_lines({images}), "moving average of the consensus: test accuracy 84.20 %\n");
  const RunSummary plain = [&] {
    RunSummary without = images;
    without.evaluation.ema.reset();
    return without;
  }();
  EXPECT_EQ(detail_lines({plain}), "");
  EXPECT_EQ(detail_lines({plain, images}), "easgd: moving average of the consensus: test accuracy 84.20 %\n");
}

TEST(TextRuns, fit_100_columns_with_many_tokens) {
  const MadeRuns place;
  make_run(place, "a", of_text({30, 18}));
  RunSummary summary = *read_made(place).runs.front().summary;
  summary.communicator = "easgd-async";
  summary.steps = 99999;
  summary.seconds = 86400;
  summary.bytes_per_rank = 1234567890123;
  for (const std::int64_t tokens : {99'999'999LL, 3'840'000'000LL, 300'000'000'000LL}) {
    summary.tokens = tokens;
    EXPECT_LE(summary_table({summary}).find('\n'), 100u) << summary_table({summary});
  }
}

// One label more or less of 10,000 is the finest difference of an accuracy of windows of text, not one window of 100.
TEST(Resolution, of_an_accuracy_is_one_label_of_the_test_set) {
  const MadeRuns place;
  for (const bool is_text : {false, true}) {
    const std::string name = is_text ? "text" : "images";
    MadeRun run{.accuracies = {0.5, 0.6}, .tokens_per_sample = is_text ? 100 : 0};
    make_seeds(place, name + "/a", run, 3, 0);
    run.communicator = "easgd";
    run.accuracies = {0.5, 0.603};
    make_seeds(place, name + "/b", run, 3, 0);
    const Comparison comparison = compare_runs(read_runs({place.path() / name}), {});
    EXPECT_EQ(comparison.cells.at(0).by.at(Measure::kScore).has_first(), is_text) << comparison.verdict.at(0);
  }
}

}  // namespace
}  // namespace eave
