#include "guard/watchdog.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "guard/watchdog_report.h"

namespace eave {
namespace {

enum Kind : std::int64_t { kAsk = kWatchdogMessages, kAnswer, kDiffers, kWarned, kEnd, kLeaving };

constexpr double kAskAfter = 2;  // seconds of a call before the others are asked
constexpr double kTurn = 0.25;   // seconds per rank until it may print, at most
constexpr int kMostTurns = 6;
// If two live ranks differ, both know it. A longer turn leaves time for the lower one to print.
constexpr double kTurnsOfPairs = 4;
// Seconds in which all ranks write their calls, before the first process ends.
constexpr double kLastWords = 0.25;
constexpr double kMostForFiles = 5;  // further seconds for a slow file server
// A line stands before those that other ranks print later, unless it takes longer.
constexpr std::chrono::seconds kMostForLine{1};

using Done = std::shared_ptr<const std::atomic<bool>>;

// Does work that a hung file server may hold up, in a thread of its own. Returns a flag that is set when it is done;
// nullptr: no thread or no memory is left.
Done start_apart(std::function<void()> work) noexcept try {
  auto is_done = std::make_shared<std::atomic<bool>>(false);
  std::thread([work = std::move(work), is_done] {
    work();
    *is_done = true;
  }).detach();
  return is_done;
} catch (...) {
  return nullptr;
}

bool lasts(const Done& is_done) { return is_done && !*is_done; }

Call call_in(const ControlMessage& message) {
  const auto& [sequence, collective, verb, bytes, root, history, on_device] = message.numbers;
  Call call;
  call.sequence = sequence;
  call.collective = collective;
  call.verb = static_cast<Operation::Verb>(verb);
  call.bytes = bytes;
  call.root = static_cast<std::int32_t>(root);
  call.history = history;
  call.on_device = static_cast<std::int32_t>(on_device);
  return call;
}

ControlMessage message_of(Kind kind, const Call& call) {
  return {kind,
          {call.sequence, call.collective, static_cast<std::int64_t>(call.verb), call.bytes, call.root, call.history,
           call.on_device}};
}

}  // namespace

Watchdog::Watchdog(ControlChannel& channel, const CallRecord& calls, const RankProgress& rank_progress, int rank,
                   WatchdogSettings settings)
    : channel_(channel),
      calls_(calls, rank_progress.device_calls()),
      rank_progress_(rank_progress),
      settings_(std::move(settings)),
      peers_(rank, static_cast<int>(settings_.hosts.size())) {}

const WatchdogLimit& Watchdog::limit_here() const {
  switch (rank_progress_.section()) {
    case Section::kSetup:
      return settings_.limits.setup;
    case Section::kCheckpoint:
      return settings_.limits.checkpoint;
    default:
      return settings_.limits.step;
  }
}

double Watchdog::turn() const { return std::min(kTurn, limit() / 20) * std::min(peers_.rank(), kMostTurns); }

void Watchdog::tick(double seconds) {
  if (end_) return go_on_ending(seconds);
  if (is_leaving_ && !std::exchange(has_said_so_, true)) tell(kLeaving, 0);
  if (has_said_so_ && leaving_ == peers_.size() - 1) has_left_ = true;
  if (is_in_doubt_.exchange(false)) ask(calls_.of_thread().call(calls_.of_thread().begun() - 1));
  const std::optional<Call> call = under_way();
  if (!call || !call_ || call->sequence != call_->sequence || call->on_device != call_->on_device) {
    settle();
    call_ = call;
    return;
  }
  lasted_ += seconds;
  const bool is_first = since_asked_ < 0;
  const double ask_after = std::min(kAskAfter, limit() / 8);
  if (limit() <= 0 || lasted_ < ask_after) return;
  if (is_first) peers_.begin(ask_after);
  peers_.pass(seconds);
  since_asked_ += seconds;
  // Asks seldom enough not to flood a large job with messages.
  if (is_first || since_asked_ >= std::min(1.0, limit() / 20) + 0.002 * peers_.size()) {
    since_asked_ = 0;
    ask(call_);
  }
  judge();
}

std::optional<Call> Watchdog::under_way() const {
  const std::int64_t wait = rank_progress_.wait();
  if (wait == 0) return calls_.under_way();
  Call call;
  call.sequence = -1 - wait;
  return call;
}

void Watchdog::settle() {
  if (has_warned_) {
    const std::string who = warned_of_.empty() ? "" : name_ranks(warned_of_, settings_.hosts) + " answered again, ";
    say("eave: warning: " + who + "the run goes on after " + seconds_text(stood_still_));
  }
  if (since_asked_ >= 0) peers_.forget();
  lasted_ = stood_still_ = 0;
  since_asked_ = warn_in_ = -1;
  is_warned_ = has_warned_ = false;
  warned_of_.clear();
}

void Watchdog::ask(const std::optional<Call>& about) {
  if (!about) return;
  peers_.asked();
  for (int rank = 0; rank < peers_.size(); ++rank)
    if (rank != peers_.rank()) post(rank, message_of(kAsk, *about));
}

bool Watchdog::handle(int from, const ControlMessage& message) {
  switch (message.kind) {
    case kAsk:
      compare(from, message);
      post(from, describe_self(kAnswer, rank_progress_, calls_, call_in(message)));
      return true;
    case kAnswer:
      peers_.answered(from, message);
      return true;
    case kDiffers:
      peers_.heard(from);
      compare(from, message);
      return true;
    case kWarned:
      is_warned_ = true;
      return true;
    case kLeaving:
      ++leaving_;
      return true;
    case kEnd:
      end(static_cast<ExitCode>(message.numbers[0]), "");
      return true;
    default:
      return false;
  }
}

// Compares a call of another rank with this rank's collective call of the same number, which may be in progress or
// done. If they differ, the job ends. If they are alike but their histories differ, the rank asks about the call
// before. So both go back to the call in which they parted.
void Watchdog::compare(int from, const ControlMessage& message) {
  const Call theirs = call_in(message);
  if (theirs.collective < 0 || end_) return;
  std::optional<Call> mine = calls_.call_like(theirs, theirs.collective);
  const std::int64_t collectives = calls_.collectives_like(theirs);
  if (!mine && has_said_so_ && collectives <= theirs.collective) {
    // This rank is through, but the two may have parted earlier. So the first time, compare its last call; the job ends
    // only if the other rank asks again.
    const auto last = calls_.call_like(theirs, collectives - 1);
    if (last && last_compared_with_.insert(from).second) return post(from, message_of(kAsk, *last));
    mine = Call{};
    mine->collective = theirs.collective;
    mine->on_device = theirs.on_device;
  }
  if (!mine) return;
  if (in_step(*mine, theirs)) {
    const auto before =
        mine->history == theirs.history ? std::nullopt : calls_.call_like(theirs, theirs.collective - 1);
    if (before) post(from, message_of(kAsk, *before));
    return;
  }
  if (message.kind == kAsk) post(from, message_of(kDiffers, *mine));
  end(ExitCode::kInternal, describe_difference(peers_.rank(), *mine, from, theirs, settings_.hosts));
}

void Watchdog::judge() {
  if (must_end()) {
    const std::vector<int> silent = peers_.silent_for(limit() / 2);
    return end(ExitCode::kPeerLost, describe_wait(peers_, silent, *call_, lasted_, settings_.hosts) +
                                        ". The job ends here, and saves nothing more (" + limit_here().name + ")");
  }
  if (has_warned_) stood_still_ = std::max(stood_still_, peers_.standstill());
  if (!should_warn()) {
    warn_in_ = -1;
    return;
  }
  if (warn_in_ < 0) warn_in_ = lasted_ + turn();
  if (lasted_ >= warn_in_) warn();
}

// A long call alone is no reason: a rank that only keeps the center waits from one meeting to the next, and so do fast
// ranks of a method with many local steps.
bool Watchdog::should_warn() const { return !is_warned_ && peers_.standstill() >= limit() / 4; }

// If all ranks answer, the job waits while any rank makes progress.
bool Watchdog::must_end() const { return peers_.standstill() >= limit(); }

void Watchdog::warn() {
  warned_of_ = peers_.silent_for(limit() / 16);
  say("eave: warning: " + describe_wait(peers_, warned_of_, *call_, lasted_, settings_.hosts) + " (" +
      limit_here().name + ")");
  is_warned_ = has_warned_ = true;
  tell(kWarned, 0);
}

void Watchdog::end(ExitCode code, const std::string& message) {
  if (end_) {
    if (message.empty() && !end_->is_told) end_ = End{code, "", kLastWords, true};
    return;
  }
  save_calls(message.empty() ? "another rank ended the job" : message);
  const double wait = code == ExitCode::kInternal ? kTurnsOfPairs * turn() : turn();
  end_ = End{code, message, message.empty() ? kLastWords : wait, message.empty()};
}

// If the line before still hangs, this one hangs too, so nobody waits for it here.
void Watchdog::say(const std::string& line) noexcept {
  const bool waits = !lasts(is_said_);
  is_said_ = start_apart([line, say = settings_.say] { say(line); });
  if (!is_said_) return settings_.say(line);
  const auto end = std::chrono::steady_clock::now() + kMostForLine;
  while (waits && lasts(is_said_) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A file server that hangs may be what ends the job, and must not keep the process from saying so, or from ending.
void Watchdog::save_calls(const std::string& reason) noexcept try {
  if (settings_.directory.empty()) return;
  const int rank = peers_.rank();
  std::string json = calls_as_json(calls_, rank, settings_.hosts[static_cast<std::size_t>(rank)], reason);
  is_saved_ = start_apart([directory = settings_.directory, rank, json = std::move(json), files = settings_.files] {
    write_calls(directory, rank, json, *files);
  });
} catch (...) {  // no memory is left
}

void Watchdog::go_on_ending(double seconds) {
  end_->seconds -= seconds;
  if (end_->seconds > 0) return;
  if (end_->is_told) {
    if ((lasts(is_saved_) || lasts(is_said_)) && end_->seconds > -kMostForFiles) return;
    return settings_.leave(end_->code);
  }
  const std::string& where = settings_.directory;
  say("eave: " + end_->message +
      (where.empty() ? "" : ". The last calls of each rank are in " + where + "/calls-rank-*.json"));
  tell(kEnd, static_cast<std::int64_t>(end_->code));
  end_->is_told = true;
  end_->seconds = kLastWords;
}

// The channel fails only if the network does. A rank that misses this message does not answer, and so is found.
void Watchdog::post(int to, const ControlMessage& message) noexcept try {
  channel_.post(to, message);
} catch (const Error&) {
}

void Watchdog::tell(std::int64_t kind, std::int64_t number) {
  for (int rank = 0; rank < peers_.size(); ++rank)
    if (rank != peers_.rank()) post(rank, {kind, {number}});
}

}  // namespace eave
