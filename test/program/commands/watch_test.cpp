// Tests what `eave watch` shows.
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/host.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

struct Seen {
  int code = -1;
  std::string output;
};

// Runs the program on a terminal of `columns` columns until it ends. If it shows `until`, the test types Ctrl-C.
Seen on_terminal(const Place& place, const std::string& words, unsigned short columns, const std::string& until) {
  const winsize size{24, columns, 0, 0};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string command = "cd '" + place.path().string() + "' && exec env TERM=xterm LC_ALL=C.UTF-8 timeout " +
                                "--foreground -k 5 20 " + program() + " " + words;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  Seen seen;
  bool is_typed = false;
  for (char piece[4096];;) {
    const ssize_t count = ::read(terminal, piece, sizeof piece);
    if (count <= 0) break;
    seen.output.append(piece, static_cast<std::size_t>(count));
    if (is_typed || until.empty() || seen.output.find(until) == std::string::npos) continue;
    is_typed = ::write(terminal, "\003", 1) == 1;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  seen.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return seen;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Watch, follows_a_run_from_before_it_begins_to_its_summary) {
  const Place place;
  std::jthread training([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(place.eave(quick("--shape-compute 20ms --epochs 4 --communicator easgd --run-dir run")).code, 0);
  });
  const Ended ended = expect_end(0, place.eave("watch run --interval 200ms"));
  EXPECT_EQ(ended.output.find("waiting for a run in run, which does not exist yet; Ctrl-C ends\n"), 0u) << ended.output;
  expect_parts(ended.output, {"\nrun:\n", " of 4  step ", "  loss ", "samples/s", "rank 0: computing ",
                              "\nepoch 1.00  test accuracy ", "\nepoch 4.00  test accuracy ", "\neasgd "});
}

TEST(Watch, ends_as_the_run_that_failed) {
  const Place place;
  expect_end(76, place.eave(quick("--run-dir run --lr 500000")));
  expect_end(76, place.eave("watch run"), {"the run in run failed: "});
  expect_output(0, place.eave("watch run --once"), {"the run in run failed: "});
}

TEST(Watch, ends_where_the_line_of_the_end_is_damaged_or_cut) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  const std::string whole = place.read("run/metrics.jsonl");
  const std::size_t end = whole.rfind("{\"type\":\"end\"");
  ASSERT_NE(end, std::string::npos);
  for (const std::string rest : {"", "{\"type\":\"e", "{\"type\":\"end}\n"}) {
    place.write("run/metrics.jsonl", whole.substr(0, end) + rest);
    expect_end(65, place.eave("watch run"), {"the run in run has ended", "eave summary run"});
  }
}

TEST(Watch, tells_a_newer_format_from_damage) {
  const Place place;
  place.write("run/metrics.jsonl", "{\"type\":\"header\",\"format\":3}\n");
  for (const std::string once : {"", " --once"}) {
    const Ended ended =
        expect_end(65, place.eave("watch run" + once), {"run: metrics.jsonl line 1: it says format 3; "});
    EXPECT_FALSE(holds(ended.output, "damaged") || holds(ended.output, "failed")) << ended.output;
  }
}

// Makes a run whose metrics.jsonl has no end, as one that goes on.
void make_begun_run(const Place& place) {
  ASSERT_EQ(place.eave(quick("--run-dir run")).code, 0);
  const std::string whole = place.read("run/metrics.jsonl");
  place.write("run/metrics.jsonl", whole.substr(0, whole.rfind("{\"type\":\"end\"")));
  std::filesystem::remove(place.path() / "run/summary.json");
}

TEST(Watch, ends_if_the_process_of_the_run_was_killed) {
  const Place place;
  make_begun_run(place);
  place.write("run/run.lock", "host here\nmachine " + machine_name() + "\npid " + std::to_string(::getpid()) +
                                  "\nstarted 1\nsince 1\nformat 1\n");
  expect_end(69, place.eave("watch run"), {"no process writes the run in run any more", "--resume auto"});
  expect_output(0, place.eave("watch run --once"), {"no process writes the run in run any more"});
}

TEST(Watch, ends_if_the_directory_is_removed) {
  const Place place;
  make_begun_run(place);
  const std::jthread removal([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::filesystem::remove_all(place.path() / "run");
  });
  expect_end(66, place.eave("watch run"), {"run was removed: there is nothing left to watch"});
}

// The run never ends, and a command is killed after 20 s.
TEST(Watch, ends_if_nobody_reads_its_lines_or_the_disk_is_full) {
  const Place place;
  const std::string watch = program() + " watch nowhere --interval 50ms";
  const Ended left =
      place.run("sh -c '{ timeout 20 \"$@\"; echo code $? >code; } | head -1; cat code >&2' sh " + watch);
  EXPECT_EQ(left.errors, "code 0\n");
  EXPECT_TRUE(holds(left.output, "waiting for a run in nowhere")) << left.output;
  expect_end(74, place.run("sh -c 'exec timeout 20 \"$@\" >/dev/full' sh " + watch),
             {"eave: cannot write to standard output"});
}

TEST(Watch, draws_in_place_on_a_terminal_and_leaves_by_ctrl_c) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir runs/one")));
  for (const unsigned short columns : {40, 80}) {
    const Seen seen = on_terminal(place, "watch runs --interval 100ms", columns, "A\r1 run: 1 finished");
    EXPECT_EQ(seen.code, 0) << seen.output;
    expect_parts(seen.output, {"epoch 1.00 of 1", " \xe2\x94\x82", "Ctrl-C ends"});
  }
  const Seen whole = on_terminal(place, "watch runs/one", 130, "");  // the table has 122 columns
  EXPECT_EQ(whole.code, 0);
  expect_parts(whole.output, {"allreduce      1"});
}

// The file of 20 GB is sparse, so it takes no space.
TEST(Watch, leaves_by_ctrl_c_while_it_reads) {
  const Place place;
  place.write("run/metrics.jsonl", "");
  std::filesystem::resize_file(place.path() / "run/metrics.jsonl", std::uintmax_t{20} << 30);
  for (const auto& [words, code] : {std::pair("watch run", "0"), std::pair("watch run --once", "130")}) {
    const Ended ended = place.run("'" + program() + "' " + words +
                                  " & sleep 0.3; kill -INT $!; s=$(date +%s%N); wait $!; echo code $? after $(( "
                                  "($(date +%s%N) - s) / 1000000 )) ms");
    expect_parts(ended.output, {"code " + std::string(code) + " after "});
    EXPECT_LT(std::stoi(ended.output.substr(ended.output.find("after ") + 6)), 1000) << ended.output;
  }
}

// A foreign run directory may hold strings that control the terminal or reverse the direction of text.
TEST(Watch, and_its_like_show_no_terminal_sequences_from_files) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  const std::string hostile = "\xe2\x80\xae\\u001b[2J\xc2\x9b";
  for (const std::string file : {"run/metrics.jsonl", "run/summary.json"}) {
    std::string text = place.read(file);
    for (const std::string name : {"\"communicator\":\"", "\"communicator\": \"", "\"model\":\"", "\"seed\":\""}) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size()))
        text.insert(at + name.size(), hostile);
    }
    place.write(file, text);
  }
  for (const std::string words :
       {"summary run", "report run --html none", "watch run --once", "watch run", "plan run"}) {
    const Ended ended = place.eave(words, {0, "LC_ALL=C.UTF-8"});
    for (const char* sequence : {"\x1b", "\xe2\x80\xae", "\xc2\x9b"})
      EXPECT_FALSE(holds(ended.output + ended.errors, sequence)) << words << ": " << ended.output;
  }
}

TEST(Train, shows_no_terminal_sequences_of_its_directory) {
  const Place place;
  const Ended ended = expect_output(0, place.eave(quick("--run-dir 'x\x1b[31m\xe2\x80\xae'")), {"results in x?[31m?"});
  EXPECT_EQ(ended.output.find('\x1b'), std::string::npos);
}

TEST(Watch, refuses_what_would_have_no_effect) {
  const Place place;
  expect_end(64, place.eave("watch"));
  expect_end(64, place.eave("watch run --once --interval 1s"));
  expect_end(64, place.eave("watch run --plot off"));
  expect_end(64, place.eave("watch run --interval 0s"));
  expect_end(66, place.eave("watch run --once"));
}

double longest_between_records(const Place& place) {
  double last = 0, longest = 0;
  for (const auto& step : records_of(place, "step")) {
    longest = std::max(longest, step.at("seconds").get<double>() - last);
    last = step.at("seconds");
  }
  return longest;
}

// The test looks at the file every 20 ms. The run asks for the time every 125 steps, when it makes a record. Records
// are short, so only the clock makes the run write.
TEST(Metrics, stand_in_the_file_within_a_second) {
  using Clock = std::chrono::steady_clock;
  const Place place;
  std::jthread training([&] {
    expect_end(0, place.eave(quick("--synthetic-samples 20000 --log-every 1000 --epochs 1000000 --stop-after-time 4s "
                                   "--evaluate-every 0 --run-dir run")));
  });
  std::uintmax_t size = 0;
  int growths = 0;
  double longest = 0, all = 0;
  Clock::time_point grown = Clock::now();
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(30);
  while (Clock::now() < limit && !std::filesystem::exists(place.path() / "run/summary.json")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::error_code error;
    const std::uintmax_t now = std::filesystem::file_size(place.path() / "run/metrics.jsonl", error);
    if (error || now == size) continue;
    size = now;
    const double gap = std::chrono::duration<double>(Clock::now() - grown).count();
    grown = Clock::now();
    if (++growths == 1) continue;  // the first growth is the start of the file
    longest = std::max(longest, gap);
    all += gap;
  }
  EXPECT_GT(all, 1.5) << "too short a run to tell";
  EXPECT_GE(growths, 3);
  EXPECT_LT(longest, 1.2 + 2 * longest_between_records(place)) << "a second, and the record at its end";
}

}  // namespace
}  // namespace eave
