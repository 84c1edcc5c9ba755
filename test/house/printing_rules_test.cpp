// Checks that all text for people passes src/base/printable.h, because file names may hold line ends and terminal
// sequences.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Functions that filter text, and functions whose text holds only numbers and eave's own words.
const std::set<std::string> kFilters = {"printable", "printable_lines", "shown_text"};
const std::set<std::string> kOwnWords = {"clock_text",  "count_text", "decimal_text",  "evaluation_line",
                                         "human_bytes", "loss_text",  "summary_table", "versions"};

// Texts that are eave's own, or whose parts are filtered when they are put in.
const std::set<std::string> kComposed = {
    "app/commands/checkpoint_command.cpp: samples_of(manifest)",
    "app/commands/watch_command.cpp: named_score(summary.evaluation.metric, summary.evaluation.center.accuracy)",
    "app/commands/bench_comm_command.cpp: request.operation->name",
    "app/commands/bench_comm_command.cpp: request.operation->reduction",
    "app/compare/compare_progress.cpp: (\"; about \" + clock_text(left) + \" to go\")",
    "app/compare/compare_progress.cpp: what",
    "app/main/commands.cpp: text",
    "app/main/launch.cpp: help",
    "app/main/main.cpp: eave::usage()",
    "app/commands/model_export.cpp: values.text(\"layout\")",
    "app/commands/plan_command.cpp: plan_text(report)",
    "app/commands/report_runs.cpp: report_text(comparison)",
    "app/commands/suggest_command.cpp: suggestion_text(suggestion, commands)",
    "app/commands/summary_command.cpp: detail_lines(rows)",
    "app/commands/text_printer.cpp: shown",
    "app/resume/resumption.cpp: where",
    "app/commands/train_command.cpp: line.describe(values)",
    "app/run/training_run.cpp: describe_totals(summary, resumption_.has_value())",
    "app/run/training_run.cpp: describe_stragglers(reporter_->stragglers(), guard_.hosts(), "
    "job_->plan().log_every_steps)",
    "app/run/training_run.cpp: job_->describe_stop(summary)",
    "app/commands/watch_command.cpp: (text + \"\\033[J\")",
    "app/commands/watch_command.cpp: (quiet.empty() ? watch_line(newest()) : quiet)",
    "app/commands/watch_command.cpp: describe_failure()",
    "app/commands/watch_command.cpp: line",
    "app/commands/watch_command.cpp: name()",
    "app/commands/watch_command.cpp: note",
    "app/commands/watch_command.cpp: table",
    "report/text/progress.cpp: line",
    "report/text/progress.cpp: line.substr(0, columns - 1)",
    "report/text/progress.cpp: status(record)",
};

// Files with texts of several lines. Each line is filtered before the lines are joined.
const std::set<std::string> kOfLines = {"app/compare/compare_runs.cpp",
                                        "app/commands/text_printer.cpp",
                                        "app/doctor/doctor_command.cpp",
                                        "app/run/training_run.cpp",
                                        "base/printable.cpp",
                                        "base/printable.h",
                                        "transport/core/failure.cpp"};
const std::set<std::string> kWriteToStreams = {"app/compare/program_process.cpp", "app/run/rank_guard.cpp",
                                               "c/stderr_message.h", "transport/core/failure.cpp"};

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  for (std::string line; std::getline(file, line);) text += line.substr(0, line.find("//")) + "\n";
  return text;
}

// Returns the position after the parenthesis that closes the one at `open`.
std::size_t end_of_call(const std::string& text, std::size_t open) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (text[i] == '(' || text[i] == ')')) {
      depth += text[i] == '(' ? 1 : -1;
      if (depth == 0) return i + 1;
    }
  }
  return text.size();
}

// Returns the expression that ends before `end`: a name with the objects that it is a member of, or a call.
std::string expression_before(const std::string& text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0) {
    const char last = text[begin - 1];
    if (last == ')') {
      int depth = 0;
      bool is_quoted = false;
      do {
        --begin;
        is_quoted = is_quoted != (text[begin] == '"' && (begin == 0 || text[begin - 1] != '\\'));
        if (!is_quoted) depth += text[begin] == ')' ? 1 : text[begin] == '(' ? -1 : 0;
      } while (begin > 0 && (depth > 0 || is_quoted));
    } else if (std::isalnum(static_cast<unsigned char>(last)) != 0 || last == '_' || last == '.' || last == ':') {
      --begin;
    } else if (last == '>' && begin > 1 && text[begin - 2] == '-') {
      begin -= 2;
    } else {
      break;
    }
  }
  return std::regex_replace(text.substr(begin, end - begin), std::regex("\\s+"), " ");
}

std::vector<std::string> printed_in(const std::string& text) {
  static const std::string kText = ".c_str()";
  std::vector<std::string> printed;
  for (const std::string call : {"printf(", "puts("}) {  // also matches fprintf, but not snprintf
    for (std::size_t open = text.find(call); open != std::string::npos; open = text.find(call, open + 1)) {
      if (open > 1 && text.compare(open - 2, 2, "sn") == 0) continue;
      const std::size_t end = end_of_call(text, open + call.size() - 1);
      for (std::size_t at = text.find(kText, open); at < end; at = text.find(kText, at + 1))
        printed.push_back(expression_before(text, at));
    }
  }
  return printed;
}

bool is_filtered(const std::string& expression) {
  const std::string called = expression.substr(0, expression.find('('));
  return kFilters.contains(called) || kOwnWords.contains(called);
}

TEST(Printing, passes_one_filter) {
  const fs::path root = fs::path(EAVE_SOURCE_DIR) / "src";
  std::set<std::string> composed;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string name = fs::relative(entry.path(), root).string(), text = content_of(entry.path());
    for (const char* other : {"std::cout", "std::cerr", "perror("})
      EXPECT_EQ(text.find(other), std::string::npos) << name;
    EXPECT_TRUE(kWriteToStreams.contains(name) || text.find("write(STD") == std::string::npos) << name;
    EXPECT_TRUE(kOfLines.contains(name) || text.find("printable_lines(") == std::string::npos) << name;
    for (const std::string& expression : printed_in(text)) {
      if (is_filtered(expression)) continue;
      composed.insert(name + ": " + expression);
      EXPECT_TRUE(kComposed.contains(name + ": " + expression))
          << name << ": " << expression
          << " is printed: pass it through printable(), or, if all of its parts are, name it in kComposed";
    }
  }
  for (const std::string& each : kComposed) EXPECT_TRUE(composed.contains(each)) << each << " is printed no more";
}

// The program prints an Error as one line. A message of several lines must be a LinesError, which gives them one by
// one.
TEST(Printing, no_error_has_a_line_end_of_its_own) {
  const fs::path root = fs::path(EAVE_SOURCE_DIR) / "src";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string text = content_of(entry.path()), call = "Error(";
    for (std::size_t open = text.find(call); open != std::string::npos; open = text.find(call, open + 1)) {
      const std::string words = text.substr(open, end_of_call(text, open + call.size() - 1) - open);
      const std::size_t line_end = words.find("\\n");
      EXPECT_TRUE(line_end == std::string::npos || words[line_end - 1] == '\'') << entry.path() << ": " << words;
    }
  }
}

TEST(Printing, is_looked_through_as_C_is_written) {
  EXPECT_EQ(printed_in(R"(std::printf("%s)\n", f(a, "(").text().c_str());)"),
            std::vector<std::string>{"f(a, \"(\").text()"});
  EXPECT_EQ(printed_in("std::fputs(is ? a->b.c_str() : \"\", stderr); x.c_str();"), std::vector<std::string>{"a->b"});
  EXPECT_EQ(printed_in("std::snprintf(text, 3, \"%s\", a.c_str());"), std::vector<std::string>{});
}

}  // namespace
