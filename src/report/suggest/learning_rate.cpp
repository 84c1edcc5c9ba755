#include <cmath>

#include "base/options/number_text.h"
#include "report/record/config.h"
#include "report/suggest/suggestion.h"

namespace eave {
namespace {

constexpr int kMostWorkersMeasured = 8;
constexpr const char* kSource = " (bench/questions/3-learning-rate.md)";

// Three significant digits.
std::string rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return number_text(std::round(value / unit) * unit);
}

// The rate of a run of allreduce, as a factor of the rate that it was given.
RateAdvice for_gradients(const RateQuestion& question, const std::string& lr, const std::string& scaling) {
  if (scaling != "none")
    return {lr, true,
            "as in the run: --lr-scaling " + scaling + " makes it follow the number of workers" +
                (scaling == "linear" && question.workers > 4
                     ? std::string("; with more than 4 workers sqrt was better") + kSource
                     : "")};
  const int before = question.averaged_before ? question.workers_before : 1;
  if (question.workers == before) return {lr, false, "as in the run, which had as many workers"};
  const double factor = std::sqrt(static_cast<double>(question.workers) / before);
  RateAdvice advice{rounded(number_in(question.settings, "lr") * factor), false, ""};
  advice.sentence = "the run's " + lr + " times the root of " + std::to_string(question.workers) + "/" +
                    std::to_string(before) + ", since gradients are averaged over " +
                    count_text(question.workers, "worker") + "; of the rules tried the root held longest, up to 8" +
                    kSource;
  if (question.workers > kMostWorkersMeasured) advice.sentence += "; no rule held beyond 8: try several rates";
  return advice;
}

// "; lr 0.2 and 0.4 diverged"
std::string diverged_text(const std::vector<std::string>& rates) {
  std::string text;
  for (const std::string& rate : rates)
    text += (text.empty() ? "; lr " : &rate == &rates.back() ? " and " : ", ") + rate;
  return text.empty() ? "" : text + " diverged";
}

}  // namespace

RateAdvice rate_advice(const RateQuestion& question) {
  if (!question.best_rate.empty())
    return {question.best_rate, false,
            "the best of those that the runs tried" + diverged_text(question.diverged_rates)};
  const std::string lr = setting_in(question.settings, "lr");
  if (!(number_in(question.settings, "lr") > 0))
    return {"", false,
            question.averages ? std::string("yours, scaled by the root of the number of workers") + kSource
                              : "yours of one rank: each replica keeps its batch, and so its rate"};
  const std::string scaling = setting_in(question.settings, "lr-scaling", "none");
  if (question.averages) return for_gradients(question, lr, scaling);
  if (question.workers == 1 && question.workers_before == 1) return {lr, false, "as in the run"};
  std::string sentence = "as in the run: each replica keeps its batch, and so its rate";
  if (question.averaged_before && question.workers_before > 1 && scaling == "none")
    sentence += "; the run averaged gradients of " + count_text(question.workers_before, "worker") +
                ", so a smaller rate may be better";
  return {lr, false, sentence};
}

}  // namespace eave
