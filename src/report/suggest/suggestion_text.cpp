#include <algorithm>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "report/record/json.h"
#include "report/suggest/suggestion.h"

namespace eave {
namespace {

using Answer = Suggestion::Answer;

// Whether a method would gain that the runs speak against.
bool is_refused_gain(const Suggestion& suggestion) {
  return std::ranges::any_of(suggestion.trials, [&](const Trial& trial) {
    return !trial.why_not.empty() && trial.samples_per_second >= kLeastSpeed * suggestion.alone;
  });
}

std::string headline(const Suggestion& suggestion) {
  const std::string ranks = " on " + count_text(suggestion.ranks, "rank");
  switch (suggestion.answer) {
    case Answer::kOneRank:
      if (!suggestion.doubt.empty())
        return "use one rank: it is not known whether more ranks gain, since " + suggestion.doubt;
      return is_refused_gain(suggestion) ? "use one rank: the runs speak against the methods that would gain"
                                         : "use one rank: with more, nothing gains";
    case Answer::kAllreduce:
      return "use " + name_of(suggestion.chosen->method) + ranks + ": waiting costs it " +
             decimal_text(100 * suggestion.chosen->waiting_share(), 0) + " % of a step";
    case Answer::kMethod:
      break;
  }
  return "use " + name_of(suggestion.chosen->method) + ranks;
}

std::string list_text(const std::string& title, const std::vector<std::string>& sentences) {
  std::string text = sentences.empty() ? "" : "\n" + title + "\n";
  for (const std::string& sentence : sentences) text += "- " + printable(sentence) + "\n";
  return text;
}

const char* word_of(Answer answer) {
  return answer == Answer::kOneRank ? "one-rank" : answer == Answer::kAllreduce ? "allreduce" : "method";
}

void put_options(const PlanMethod& method, Json& object) {
  if (has_period(method)) object["tau"] = method.tau;
  if (method.pattern == ExchangePattern::kTree) object["global_tau"] = method.global_tau;
  if (!method.options.empty()) object["options"] = method.options;
}

Json to_json(const Trial& trial, double alone) {
  Json object = {{"communicator", trial.method.name}};
  put_options(trial.method, object);
  object.update({{"samples_per_second", trial.samples_per_second},
                 {"speed", trial.samples_per_second / alone},
                 {"step_seconds", trial.step_seconds},
                 {"waiting_share", trial.waiting_share()},
                 {"error", trial.error},
                 {"source", trial.source},
                 {"why_not", trial.why_not}});
  return object;
}

}  // namespace

std::string suggestion_text(const Suggestion& suggestion, const SuggestedCommands& commands) {
  std::string text = printable(headline(suggestion)) + "\n\n  " + printable(commands.command) + "\n";
  if (!commands.averager.empty()) text += "  with " + printable(commands.averager) + " in the program\n";
  if (!commands.place.empty()) text += "  " + printable(commands.place) + "\n";
  text += list_text("because", suggestion.reasons);
  const std::string& lr = suggestion.rate.lr;
  text += list_text("learning rate" + (lr.empty() ? "" : " " + printable(lr)), {suggestion.rate.sentence});
  text += list_text("not known", suggestion.unknown);
  if (!commands.comparison.empty())
    text += "\nthis comparison would settle the " + printable(suggestion.metric) + ":\n\n  " +
            printable(commands.comparison) + "\n";
  return text;
}

std::string suggestion_json(const Suggestion& suggestion, const SuggestedCommands& commands) {
  Json trials = Json::array();
  for (const Trial& trial : suggestion.trials) trials.push_back(to_json(trial, suggestion.alone));
  Json object = {{"format", 1},
                 {"answer", word_of(suggestion.answer)},
                 {"ranks", suggestion.ranks},
                 {"communicator", suggestion.chosen ? suggestion.chosen->method.name : "none"}};
  if (suggestion.chosen) put_options(suggestion.chosen->method, object);
  object.update({{"command", commands.command},
                 {"averager", commands.averager},
                 {"learning_rate", {{"lr", suggestion.rate.lr}, {"sentence", suggestion.rate.sentence}}},
                 {"reasons", suggestion.reasons},
                 {"unknown", suggestion.unknown},
                 {"settled_by", commands.comparison},
                 {"trials", trials}});
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace eave
