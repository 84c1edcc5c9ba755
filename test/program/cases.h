// Runs of the program that are to end with a message, many of them at once.
#pragma once

#include <functional>
#include <future>
#include <semaphore>
#include <string>
#include <vector>

#include "test/program/program.h"

namespace eave {

struct Case {
  std::string words;
  int code;
  std::vector<std::string> says;  // what, where, what to do
  std::string environment = {};
};

// Ended with its code and one message that says all of it, before training.
void expect_one_message(const Ended& ended, const Case& wrong, const std::string& how);

// Runs several at once, as most of the time mpirun only waits.
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

// Each case by itself, on 2 and 4 ranks as threads, on 2 and 4 under mpirun.
void start_all(Runs& runs, const Place& place, const Case& wrong);

}  // namespace eave
