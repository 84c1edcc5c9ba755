#include "c/call_watch.h"

#include <utility>

#include "base/options/number_text.h"

namespace eave {
namespace {

// Begins after the kinds in GuardMessage.
enum Kind : std::int64_t { kAsk = 32, kDiffers };

constexpr double kAgain = 1;  // seconds between two questions

std::string describe(const InterfaceCall& call) {
  const std::string step = std::to_string(call.step);
  switch (call.function) {
    case InterfaceCall::Function::kOpen:
      return "opens an averager";
    case InterfaceCall::Function::kStep:
      return "is in step " + step;
    case InterfaceCall::Function::kConsensus:
      return "asks for the consensus after " + count_text(call.step, "step");
    case InterfaceCall::Function::kClose:
      return "has closed its averager after " + count_text(call.step, "step");
    case InterfaceCall::Function::kSum:
      return "sums numbers over the ranks";
    case InterfaceCall::Function::kBroadcast:
      return "takes values from rank 0";
    case InterfaceCall::Function::kCompare:
      return "compares its model with the other ranks, as at the start and after load_state_dict";
    case InterfaceCall::Function::kJoin:
      return "begins step " + step + ", which ranks without data take part in";
    case InterfaceCall::Function::kSave:
      return "saves its state after " + count_text(call.step, "step");
    case InterfaceCall::Function::kState:
      return "takes its state after " + count_text(call.step, "step");
    case InterfaceCall::Function::kRestore:
      return "loads a saved state";
    case InterfaceCall::Function::kRunOpen:
      return "opens a run";
    case InterfaceCall::Function::kRunEvaluate:
      return "records an evaluation";
    case InterfaceCall::Function::kRunClose:
      return "closes its run";
    case InterfaceCall::Function::kMean:
      return "asks for the mean of the workers";
    case InterfaceCall::Function::kBegin:
      return call.step > 0 ? "is in step " + step : "has taken no step yet";
    case InterfaceCall::Function::kStop:
      break;
  }
  return "has left the job, as at the end of its program";
}

bool loads_state(const InterfaceCall& call) {
  return call.function == InterfaceCall::Function::kCompare || call.function == InterfaceCall::Function::kRestore;
}

std::string advise(const InterfaceCall& one, const InterfaceCall& other) {
  if (loads_state(one) || loads_state(other))
    return "Make averagers and load saved states on all ranks, at the same places of the program";
  return "Give each rank the same number of batches, and call eave's functions in the same order on all ranks";
}

}  // namespace

CallWatch::CallWatch(ControlChannel& channel, int rank, std::vector<std::string> hosts, double patience,
                     std::int64_t generation, std::function<void(ExitCode, const std::string&)> end)
    : channel_(channel),
      rank_(rank),
      hosts_(std::move(hosts)),
      patience_(patience),
      generation_(generation),
      end_(std::move(end)) {}

void CallWatch::enter(const InterfaceCall& call) {
  const std::lock_guard lock(mutex_);
  calls_[static_cast<std::size_t>(begun_) % kKept] = {begun_, call};
  ++begun_;
  is_in_call_ = true;
}

void CallWatch::leave(bool counts) {
  const std::lock_guard lock(mutex_);
  is_in_call_ = false;
  if (!counts) --begun_;
}

std::optional<CallWatch::Numbered> CallWatch::last() const {
  const std::lock_guard lock(mutex_);
  if (begun_ == 0) return std::nullopt;
  return calls_[static_cast<std::size_t>(begun_ - 1) % kKept];
}

std::optional<CallWatch::Numbered> CallWatch::numbered(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  if (number >= begun_) return std::nullopt;
  const Numbered& kept = calls_[static_cast<std::size_t>(number) % kKept];
  return kept.number == number ? std::optional(kept) : std::nullopt;
}

void CallWatch::tick(double seconds) {
  if (has_ended_) return;
  const std::optional<Numbered> now = last();
  if (!now) return;
  const bool is_in_doubt = is_in_doubt_.exchange(false);
  const bool lasts = [&] {
    const std::lock_guard lock(mutex_);
    return is_in_call_;
  }();
  if (now->number != looked_at_ || !lasts) lasted_ = 0;
  looked_at_ = now->number;
  if (lasts) lasted_ += seconds;
  if (!is_in_doubt && lasted_ < patience_) return;
  lasted_ = patience_ - kAgain;
  for (int rank = 0; rank < static_cast<int>(hosts_.size()); ++rank)
    if (rank != rank_) tell(rank, kAsk, *now);
}

bool CallWatch::handle(int from, const ControlMessage& message) {
  if (message.kind != kAsk && message.kind != kDiffers) return false;
  if (!has_ended_ && message.numbers[3] == generation_) compare(from, message);
  return true;
}

void CallWatch::compare(int from, const ControlMessage& message) {
  const std::optional<Numbered> mine = numbered(message.numbers[0]);
  const InterfaceCall theirs{static_cast<InterfaceCall::Function>(message.numbers[1]), message.numbers[2]};
  if (!mine || mine->call.function == theirs.function) return;
  has_ended_ = true;
  if (message.kind == kAsk) tell(from, kDiffers, *mine);
  end_(ExitCode::kPeerLost, "the ranks are out of step: " + place(rank_, mine->call) + ", " + place(from, theirs) +
                                ". " + advise(mine->call, theirs));
}

std::string CallWatch::place(int rank, const InterfaceCall& call) const {
  return "rank " + std::to_string(rank) + " on " + hosts_[static_cast<std::size_t>(rank)] + " " + describe(call);
}

// The channel fails only if the network does. The Watchdog reports ranks that do not answer.
void CallWatch::tell(int to, std::int64_t kind, const Numbered& call) noexcept try {
  channel_.post(to, {kind, {call.number, static_cast<std::int64_t>(call.call.function), call.call.step, generation_}});
} catch (const Error&) {
}

}  // namespace eave
