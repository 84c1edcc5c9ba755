// Implements eave.h. The session's thread does the work of each function, and exceptions become a code and a message.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host.h"
#include "base/options/number_text.h"
#include "c/averager.h"
#include "c/averager_handle.h"
#include "c/session.h"
#include "eave.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "eave/job.h"
#include "eave/random.h"
#include "transport/core/failure.h"
#include "transport/mpi/mpi_library.h"

namespace {

using eave::Error;
using eave::ExitCode;
using eave::require;
using eave::Transport;

// Never destroyed, because its thread may be waiting in MPI when the process ends.
eave::Session* session = nullptr;
bool was_started = false;
thread_local std::string last_error;
thread_local bool is_last_error_shared = false;

int code_of(const std::function<void()>& call) {
  const std::optional<eave::Failure> failure = eave::failure_of(call);
  if (!failure) return 0;
  last_error = failure->message;
  is_last_error_shared = failure->agreed;
  return static_cast<int>(failure->code);
}

using Function = eave::InterfaceCall::Function;

eave::OpenHandles<eave_averager> open_averagers;

void require_session() {
  if (!session)
    throw Error(ExitCode::kUsage, "call eave_start first; after eave_stop, a process cannot join a job again");
}

// The meetings of a rank whose next call is no step (Averager::meet_first_step).
void meet_first_steps() {
  std::vector<eave::Averager*> averagers;
  for (eave_averager* each : open_averagers.all()) averagers.push_back(&each->averager);
  const auto is_awaited = [](const eave::Averager* each) { return each->awaited().has_value(); };
  for (bool has_met = true; has_met && std::ranges::any_of(averagers, is_awaited);)
    session->run(eave::InterfaceCall{Function::kBegin, 0},
                 [&](Transport& transport) { has_met = eave::Averager::meet_first_step(transport, averagers); });
}

// `call`: set if all ranks do this work in the same order.
int in_session(const std::optional<eave::InterfaceCall>& call, const std::function<void(Transport&)>& work) {
  return code_of([&] {
    require_session();
    if (call) meet_first_steps();
    session->run(call, work);
  });
}

int in_session(Function function, const std::function<void(Transport&)>& work) {
  return in_session(eave::InterfaceCall{function, 0}, work);
}

using AveragerWork = std::function<void(eave::Averager&)>;
using CallOfAverager = std::function<std::optional<eave::InterfaceCall>(const eave::Averager&)>;

enum class Meets { kNobody, kFirstSteps };

// `here`: in this thread, not in the session's, unless the averager is on a GPU.
int in_session(const CallOfAverager& call_of, eave_averager* averager, const AveragerWork& work, Meets meets,
               bool here = false) {
  return code_of([&] {
    require_session();
    eave::require_open(averager);
    if (meets == Meets::kFirstSteps) meet_first_steps();
    eave::Averager& own = averager->averager;
    const std::optional<eave::InterfaceCall> call = call_of(own);
    const auto on_own = [&](Transport&) { work(own); };
    here && !own.is_on_gpu() ? session->run_here(call, on_own) : session->run(call, on_own);
  });
}

// Some methods let ranks be in different steps. Then only the beginning of the first step is a numbered call.
int in_session(Function function, eave_averager* averager, const AveragerWork& work) {
  const bool is_step = function == Function::kStep;
  const auto call_of = [&](const eave::Averager& own) -> std::optional<eave::InterfaceCall> {
    if (is_step && own.awaited()) return eave::InterfaceCall{Function::kBegin, own.steps() + 1};
    return eave::InterfaceCall{function, own.steps() + (is_step ? 1 : 0), !is_step || own.needs_equal_steps()};
  };
  return in_session(call_of, averager, work, is_step ? Meets::kNobody : Meets::kFirstSteps, is_step);
}

std::optional<eave::InterfaceCall> call_alone(const eave::Averager&) { return std::nullopt; }

int on_one_rank(eave_averager* averager, const AveragerWork& work, bool here = false) {
  return in_session(call_alone, averager, work, Meets::kNobody, here);
}

// Collective: copies rank 0's bytes to all ranks, in pieces of 4 MiB. `count` is the same on all ranks.
void broadcast_bytes(Transport& transport, char* bytes, std::size_t count) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  std::vector<float> piece((std::min(count, kPiece) + sizeof(float) - 1) / sizeof(float));
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t size = std::min(kPiece, count - at);
    std::memcpy(piece.data(), bytes + at, size);
    const eave::Slice values = eave::Slice(piece).first((size + sizeof(float) - 1) / sizeof(float));
    transport.broadcast(values, 0).wait();
    std::memcpy(bytes + at, piece.data(), size);
  }
}

bool is_open(const eave_averager* averager) { return open_averagers.contains(averager); }

// Averaging one of the vectors would destroy the other one.
void refuse_overlap(const float* parameters, const float* gradients, std::size_t count) {
  const std::less<const float*> lies_before;
  if (lies_before(parameters, gradients + count) && lies_before(gradients, parameters + count))
    throw Error(ExitCode::kUsage, "parameters and gradients overlap; give each of them memory of its own");
}

}  // namespace

int eave::call_in_session(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work) {
  return in_session(call, work);
}

int eave::call_on_averager(Function function, eave_averager* averager, const std::function<void(Averager&)>& work) {
  return in_session(function, averager, work);
}

void eave::require(const void* pointer, const char* what) {
  if (!pointer) throw Error(ExitCode::kUsage, std::string(what) + " is a null pointer");
}

void eave::require_open(const eave_averager* averager) {
  require(averager, "averager");
  if (!open_averagers.contains(averager))
    throw Error(ExitCode::kUsage, "this averager is closed; open a new one, on all ranks");
}

void eave::note_failure(const std::optional<Error>& error) {
  if (session->rank() == 0) return;
  if (!error) return session->note_failure({});
  const std::string place = "rank " + std::to_string(session->rank()) + " on " + host_name() + ": ";
  session->note_failure(Error(error->code(), place + error->what()));
}

int eave::call_here(const std::function<void()>& work) { return code_of(work); }

int eave_interface() { return EAVE_INTERFACE; }
const char* eave_error() { return last_error.c_str(); }

int eave_start(const char* transport) {
  return code_of([&] {
    require(transport, "transport");
    if (was_started) throw Error(ExitCode::kUsage, "eave_start was already called; a process may call it once");
    session = new eave::Session(transport);
    was_started = true;
  });
}

int eave_rank() { return session ? session->rank() : -1; }
int eave_size() { return session ? session->size() : 0; }
int eave_local_rank() { return session ? session->local_rank() : -1; }

int eave_stop() {
  return code_of([] {
    if (!session) return;
    if (const std::int64_t open = open_averagers.count(); open > 0)
      throw Error(ExitCode::kUsage, "close " + eave::count_text(open, "averager") + " first, on all ranks");
    session->close();
    session = nullptr;
  });
}

int eave_open(const char* options, float* parameters, float* gradients, size_t count, eave_averager** averager) {
  return in_session(Function::kOpen, [&](Transport& transport) {
    eave::agree(transport, [&] {
      require(options, "options");
      require(parameters, "parameters");
      require(gradients, "gradients");
      require(averager, "averager");
      if (count == 0) throw Error(ExitCode::kUsage, "a model without parameters: give at least one");
      refuse_overlap(parameters, gradients, count);
    });
    *averager =
        new eave_averager{{transport, options, {parameters, count}, {gradients, count}, session->averager_job()}};
    open_averagers.add(*averager);
    if (const auto limit = (*averager)->averager.limit()) session->set_limit(eave::limit_from(*limit, "the options"));
  });
}

const char* eave_description(const eave_averager* averager) {
  return is_open(averager) ? averager->averager.description().c_str() : "";
}

unsigned eave_traits(const eave_averager* averager) {
  if (!is_open(averager)) return 0;
  const eave::CommunicatorTraits& traits = averager->averager.traits();
  unsigned facts = 0;
  if (traits.averages_gradients) facts |= EAVE_AVERAGES_GRADIENTS;
  if (traits.has_center) facts |= EAVE_HAS_CENTER;
  if (!traits.uses_optimizer) facts |= EAVE_MOVES_PARAMETERS;
  if (traits.exchanges_together) facts |= EAVE_EXCHANGES_TOGETHER;
  if (averager->averager.wants_loss()) facts |= EAVE_WANTS_LOSS;
  return facts;
}

int64_t eave_steps_left_out(const eave_averager* averager) {
  return is_open(averager) ? averager->averager.steps_left_out() : 0;
}

int eave_look_ahead(eave_averager* averager, const float* velocity, double factor) {
  return on_one_rank(averager, [&](eave::Averager& own) {
    require(velocity, "velocity");
    own.look_ahead({{velocity, own.size()}, static_cast<float>(factor)});
  });
}

int eave_begin_step(eave_averager* averager, int64_t samples, int64_t samples_everywhere, double learning_rate) {
  return in_session(Function::kStep, averager,
                    [&](eave::Averager& own) { own.begin_step(samples, samples_everywhere, learning_rate); });
}

int eave_change_rate(eave_averager* averager, double learning_rate) {
  return on_one_rank(
      averager, [&](eave::Averager& own) { own.change_rate(learning_rate); }, true);
}

int eave_gradient_ready(eave_averager* averager, size_t first, size_t count) {
  return on_one_rank(
      averager, [&](eave::Averager& own) { own.gradient_ready(first, count); }, true);
}

int eave_begin_joined_step(eave_averager* averager, int64_t samples, double* numbers, size_t count, int* begins) {
  const auto call_of = [&](const eave::Averager& own) -> std::optional<eave::InterfaceCall> {
    if (own.awaited()) return eave::InterfaceCall{Function::kBegin, own.steps() + 1};
    return eave::InterfaceCall{Function::kJoin, own.steps() + 1, own.is_collective_with(samples)};
  };
  const auto begin = [&](eave::Averager& own) {
    require(numbers, "numbers");
    require(begins, "begins");
    bool leaves = session->leaving().is_leaving();
    *begins = own.begin_joined_step(samples, {numbers, count}, leaves) ? 1 : 0;
    if (*begins == 0 && leaves) session->leaving().leave();
  };
  return in_session(call_of, averager, begin, Meets::kNobody);
}

int eave_before_update(eave_averager* averager, double loss_sum, int* updates) {
  return eave_before_update_of(averager, loss_sum, nullptr, 0, updates);
}

int eave_before_update_of(eave_averager* averager, double loss_sum, unsigned char* has_gradient, size_t tensors,
                          int* updates) {
  return in_session(Function::kStep, averager, [&](eave::Averager& own) {
    require(updates, "updates");
    if (tensors > 0) require(has_gradient, "has_gradient");
    *updates = own.before_update(loss_sum, {has_gradient, tensors}) ? 1 : 0;
  });
}

int eave_before_update_from(eave_averager* averager, double loss_sum, const float* const* gradients,
                            const size_t* counts, size_t tensors, unsigned char* has_gradient, size_t flags,
                            int* exchanges, int* updates) {
  return in_session(Function::kStep, averager, [&](eave::Averager& own) {
    require(gradients, "gradients");
    require(counts, "counts");
    require(has_gradient, "has_gradient");
    require(exchanges, "exchanges");
    require(updates, "updates");
    *updates = own.before_update(loss_sum, {has_gradient, flags}, {{gradients, tensors}, {counts, tensors}}) ? 1 : 0;
    *exchanges = own.gradient_exchanges();
  });
}

int eave_gradients_ready(eave_averager* averager, const float* const* gradients, const size_t* counts, size_t tensors,
                         size_t first) {
  return on_one_rank(
      averager,
      [&](eave::Averager& own) {
        require(gradients, "gradients");
        require(counts, "counts");
        own.gradients_ready({{gradients, tensors}, {counts, tensors}}, first);
      },
      true);
}

int eave_after_update(eave_averager* averager) {
  return in_session(Function::kStep, averager, [](eave::Averager& own) {
    own.after_update();
    session->leaving().after_step(own.needs_equal_steps());
  });
}

int eave_consensus(eave_averager* averager, float* into) {
  return in_session(Function::kConsensus, averager, [&](eave::Averager& own) {
    require(into, "into");
    own.write_consensus({into, own.size()});
  });
}

int eave_mean_of_workers(eave_averager* averager, float* into) {
  return in_session(Function::kMean, averager, [&](eave::Averager& own) {
    require(into, "into");
    own.write_mean({into, own.size()});
  });
}

int eave_sum(double* values, size_t count) {
  return in_session(Function::kSum, [&](Transport& transport) {
    if (count > 0) require(values, "values");
    const std::vector<double> sums = eave::sum_over_ranks(transport, {values, values + count});
    std::copy(sums.begin(), sums.end(), values);
  });
}

int eave_broadcast(void* values, size_t bytes) {
  return in_session(Function::kBroadcast, [&](Transport& transport) {
    if (bytes > 0) require(values, "values");
    eave::require_same(transport, "eave_broadcast of " + eave::count_text(static_cast<std::int64_t>(bytes), "byte"));
    broadcast_bytes(transport, static_cast<char*>(values), bytes);
  });
}

int eave_require_same(const char* text) {
  return in_session(Function::kCompare, [&](Transport& transport) {
    require(text, "text");
    eave::require_same(transport, text);
  });
}

int eave_spent_by(eave_averager* averager, eave_spent* spent) {
  return on_one_rank(averager, [&](eave::Averager& own) {
    require(spent, "spent");
    const eave::TransportCounters counters = own.counters();
    *spent = {own.seconds_waiting(), counters.bytes, counters.calls};
  });
}

int eave_shuffle(int64_t* order, size_t count, uint64_t seed, int64_t epoch) {
  return code_of([&] {
    if (count > 0) require(order, "order");
    if (count > INT32_MAX || epoch < 0) throw Error(ExitCode::kUsage, "at most 2^31 - 1 samples, and epochs from 0 up");
    eave::write_shuffled({order, count}, {seed, eave::Purpose::kShuffle, 0}, static_cast<std::uint64_t>(epoch));
  });
}

int eave_close(eave_averager* averager) {
  if (!averager) return 0;
  return in_session(Function::kClose, averager, [averager](eave::Averager& own) {
    const std::unique_ptr<eave_averager> owned(averager);
    open_averagers.remove(averager);
    own.finish();
  });
}

int eave_abandon(eave_averager* averager) {
  if (!averager) return 0;
  return code_of([&] {
    require_session();
    eave::require_open(averager);
    open_averagers.remove(averager);
  });
}

int64_t eave_steps(const eave_averager* averager) { return is_open(averager) ? averager->averager.steps() : 0; }

void eave_abort(int code) {
  if (session) session->abort(eave::is_code_of_failure(code) ? static_cast<ExitCode>(code) : ExitCode::kInternal);
}

void eave_ask_to_leave() { eave::ask_to_leave(); }

int eave_leave_on(int signal) {
  return code_of([signal] { eave::leave_on(signal); });
}

int eave_is_leaving() { return session && session->is_leaving() ? 1 : 0; }

int eave_error_is_shared() { return is_last_error_shared ? 1 : 0; }

int eave_ranks_meet_by_mpi() { return eave::started_by_launcher() || eave::mpi_is_running(); }
