// Expectations of tests about runs of the program: how a run ended, what it said, and what its files hold.
#pragma once

#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <string>
#include <vector>

#include "test/expectations.h"
#include "test/program/program.h"

namespace eave {

// Expects the exit code, exactly one message unless the code is 0, and all of `says` in standard error. Returns
// `ended`.
Ended expect_end(int code, Ended ended, const Texts& says = {});

// Expects the exit code, and all of `parts` in standard output. Returns `ended`.
Ended expect_output(int code, Ended ended, const Texts& parts);

// Expects the exit code, and each of `parts` in standard output or standard error. Returns `ended`.
Ended expect_told(int code, Ended ended, const Texts& parts = {});

nlohmann::json json_in(const Place& place, const std::string& file);

// The lines of a run's metrics.jsonl, or those of one type. Throws if a line is torn.
std::vector<nlohmann::json> records_of(const Place& place, const std::string& type = "",
                                       const std::string& run = "run");

struct Case {
  std::string words;
  int code;
  Texts says;  // parts of the message: what happened, where, what to do
  std::string environment = {};
};

// Expects that the run ended before training, with the code of `wrong` and one message that holds all its texts.
void expect_one_message(const Ended& ended, const Case& wrong, const std::string& how);

// Runs up to eight commands at once, since mpirun spends most of its time waiting.
class Runs {
 public:
  void start(const Case& wrong, const std::string& how, const std::function<Ended()>& run) {
    runs_.push_back({wrong, how, std::async(std::launch::async, [this, run] {
                       places_.acquire();
                       Ended ended = run();
                       places_.release();
                       return ended;
                     })});
  }
  void check(const std::function<void(const Ended&, const Case&, const std::string&)>& check) {
    for (Run& run : runs_) check(run.ended.get(), run.wrong, run.how);
  }

 private:
  struct Run {
    Case wrong;
    std::string how;
    std::future<Ended> ended;
  };
  std::counting_semaphore<> places_{8};
  std::vector<Run> runs_;
};

// Starts the case on one rank, on 2 and 4 ranks as threads (only if it is a training), and on 2 and 4 ranks under
// mpirun (only if there is an mpirun).
void start_all(Runs& runs, const Place& place, const Case& wrong);

}  // namespace eave
