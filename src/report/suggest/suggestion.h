// Decides which method to train with: the one place where eave gives this advice.
//
// The rule rests on bench/results/time-to-accuracy.md, where lenet and cifar7 were trained to an accuracy on 2 and 4
// hosts:
//
// 1. One rank, if no method trains kLeastSpeed times the samples per second of one rank, beyond the error to be
// expected.
// 2. allreduce, if no other method takes kLeastGain times as many steps per second. A smaller gain does not outweigh
//    the accuracy that rarer averaging may cost. If the plan was too fast about a run that exchanges alike, the gain is
//    divided by as much.
// 3. Else the method that trains most samples per second, with the smallest tau of kPeriods whose exchanges cost
//    kLittleWaiting of a step at most; a tau that a run measured is preferred to those that are planned, and of runs
//    that differ in another option, such as alpha, the one with the best score. If methods
//    cannot be told apart, the first of --communicators is taken: local-sgd, which was first in 6 of the 8 cases there.
//
// A method that the runs speak against (quality_of) is not advised.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/suggest/trials.h"

namespace eave {

// The taus that are advised: those with which accuracies were measured (time-to-accuracy.md, question 8).
inline constexpr std::array kPeriods = {4, 16, 64};
inline constexpr double kLeastGain = 2;         // in steps per second, to leave allreduce
inline constexpr double kLeastSpeed = 1.1;      // against one rank
inline constexpr double kLittleWaiting = 0.25;  // of a step

// Measurements of steps per second and the time to an accuracy, of local-sgd and easgd against allreduce.
struct GainsMeasured {
  int cases = 0;
  double least_steps = 0, most_steps = 0;  // times the steps per second
  double least_time = 0, most_time = 0;    // times as soon at the accuracy
};
inline constexpr GainsMeasured kSmallGains{4, 2.0, 2.6, 1.0, 1.8}, kLargeGains{12, 6.2, 54.3, 3.3, 46.6};

struct RateQuestion {
  std::map<std::string, std::string> settings;   // of the run whose rate is known
  int workers_before = 1;                        // of that run
  bool averaged_before = false;                  // its method averaged gradients
  int workers = 1;                               // that are advised
  bool averages = false;                         // the advised method averages gradients
  std::string best_rate;                         // found by several runs of the advised method; "" if there are none
  std::vector<std::string> diverged_rates = {};  // other rates of these runs, at which one diverged
};

struct RateAdvice {
  std::string lr;              // for --lr; "" if the run's rate is not known
  bool keeps_scaling = false;  // --lr-scaling stays as in the run
  std::string sentence;        // what is advised, and where the rule was measured
};

// If the method averages gradients, p times the workers are a batch of p times the size, and the rate grows with the
// root of p: it held longest in bench/questions/3-learning-rate.md, up to 8 workers. The linear rule held up to 4
// there. With the other methods each replica keeps its batch, and so its rate. A run that had --lr-scaling keeps it:
// its rate follows by itself.
RateAdvice rate_advice(const RateQuestion& question);

struct Suggestion {
  enum class Answer { kOneRank, kAllreduce, kMethod };
  Answer answer = Answer::kOneRank;
  int ranks = 1;
  std::optional<Trial> chosen;  // nothing for one rank
  std::string doubt;            // of one rank: why a plan that more ranks gain is not believed; "" if there is none
  std::vector<std::string> reasons;  // at most three, each with a figure and where it was measured
  std::vector<std::string> unknown;  // what was not measured, or was assumed
  RateAdvice rate;
  // Methods that a comparison should train, with those ranks, to settle what is not known; empty if nothing is open.
  std::vector<PlanMethod> to_compare;
  std::vector<Trial> trials;  // of all methods
  std::string metric = "accuracy";
  double alone = 0;  // samples per second of one rank
};

Suggestion suggest(const SuggestQuestion& question);

// "local-sgd, tau 16", "easgd, tau 16, alpha 0.3"
std::string name_of(const PlanMethod& method);
bool has_period(const PlanMethod& method);  // a tau

// The run that a suggestion repeats: the one that measured what is chosen, else the one that is planned from.
const SuggestRun& repeated_run(const SuggestQuestion& question, const Suggestion& suggestion);

// The sentences of a suggestion. The reasons are at most three. `other` is the best method besides allreduce, or
// nullptr.
std::vector<std::string> reasons_for(const SuggestQuestion& question, const Suggestion& suggestion,
                                     const AloneRate& alone, const Trial* other);
std::vector<std::string> unknown_of(const SuggestQuestion& question, const Suggestion& suggestion);

// "the runs speak against easgd, tau 16: runs/a diverged with it"
std::string objection_text(const Trial& trial);

// "the plan was 40 % too fast about runs/a", or how much too fast plans of this kind may be.
std::string plan_error_text(const Trial& trial);

// Whether the ranks use several hosts, and nobody gave or measured the rate of their links.
bool is_network_assumed(const SuggestQuestion& question);

// The command lines of a suggestion.
struct SuggestedCommands {
  std::string command, averager, place, comparison;
};

// suggestion_json returns
//
//   {"format": 1, "answer": "one-rank", "allreduce" or "method", "ranks", "communicator", "tau": if the method has one,
//    "options": {"alpha": "0.3"} if there are any, "command", "averager": of a program of one's own, else "",
//    "learning_rate": {"lr", "sentence"}, "reasons", "unknown", "settled_by": the command of a comparison, or "",
//    "trials": [{"communicator", "tau", "options", "samples_per_second", "speed": against one rank, "step_seconds",
//      "waiting_share", "error", "source", "why_not"}]}
std::string suggestion_text(const Suggestion& suggestion, const SuggestedCommands& commands);
std::string suggestion_json(const Suggestion& suggestion, const SuggestedCommands& commands);

}  // namespace eave
