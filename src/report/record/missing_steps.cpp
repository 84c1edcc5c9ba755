#include "report/record/missing_steps.h"

#include "report/record/config.h"

namespace eave {
namespace {

std::int64_t every_in(const HeaderLine& header) {
  return static_cast<std::int64_t>(number_in(header.config, "log-every"));
}

bool counts_alike(const HeaderLine& one, const HeaderLine& other) {
  return one.ranks.size() == other.ranks.size() && one.workers() == other.workers() &&
         one.train_samples == other.train_samples && every_in(one) == every_in(other);
}

}  // namespace

bool MissingSteps::take(const HeaderLine& header) {
  const bool is_first = !header_, is_anew = header_ && !counts_alike(*header_, header);
  if (is_first) last_.assign(header.ranks.size(), 0);
  if (is_anew) {
    missing_ = 0;
    last_.assign(header.ranks.size(), std::nullopt);
  }
  header_ = header;
  every_ = every_in(header);
  return is_anew;
}

void MissingSteps::take(const StepLine& line) {
  std::optional<std::int64_t>& last = last_[static_cast<std::size_t>(line[StepLine::kRank])];
  const auto step = static_cast<std::int64_t>(line[StepLine::kStep]);
  if (last) missing_ += lines_between(*last, step - 1);
  last = step;
}

std::int64_t MissingSteps::count(std::int64_t steps) const {
  std::int64_t missing = missing_;
  for (std::size_t rank = 0; rank < last_.size(); ++rank) {
    if (last_[rank] && header_->ranks[rank].trains) missing += lines_between(*last_[rank], steps);
  }
  return missing;
}

// The number of lines of one rank that are due after step `last`, up to step `next`.
std::int64_t MissingSteps::lines_between(std::int64_t last, std::int64_t next) const {
  return every_ > 0 && next > last ? next / every_ - last / every_ : 0;
}

}  // namespace eave
