// eave.h: each function's work is done by the session's thread, and what escapes becomes a code and a message.
#include <memory>
#include <new>
#include <string>

#include "c/averager.h"
#include "c/session.h"
#include "eave.h"
#include "transport/failure.h"

struct eave_averager {
  eave::Averager averager;
};

namespace {

using eave::Error;
using eave::ExitCode;
using eave::Transport;

// Never destroyed: at the process's end its thread may be waiting in MPI.
eave::Session* session = nullptr;
bool was_started = false;
thread_local std::string last_error;

int code_of(const std::function<void()>& call) {
  const std::optional<eave::Failure> failure = eave::failure_of(call);
  if (!failure) return 0;
  last_error = failure->message;
  return static_cast<int>(failure->code);
}

int in_session(const std::function<void(Transport&)>& work) {
  return code_of([&] {
    if (!session) throw Error(ExitCode::kUsage, "eave_start has not been called, or eave_stop has");
    session->run(work);
  });
}

// Of a call that needs them.
void require(const void* pointer, const char* what) {
  if (!pointer) throw Error(ExitCode::kUsage, std::string(what) + " is a null pointer");
}

}  // namespace

int eave_interface() { return EAVE_INTERFACE; }
const char* eave_error() { return last_error.c_str(); }

int eave_start(const char* transport) {
  return code_of([&] {
    require(transport, "transport");
    if (was_started) throw Error(ExitCode::kUsage, "eave_start has been called already; once in a process it can be");
    session = new eave::Session(transport);
    was_started = true;
  });
}

int eave_rank() { return session ? session->rank() : -1; }
int eave_size() { return session ? session->size() : 0; }

int eave_stop() {
  return code_of([] {
    if (!session) return;
    session->close();
    session = nullptr;
  });
}

int eave_open(const char* options, float* parameters, float* gradients, size_t count, eave_averager** averager) {
  return in_session([&](Transport& transport) {
    eave::agree(transport, [&] {
      require(options, "options");
      require(parameters, "parameters");
      require(gradients, "gradients");
      require(averager, "averager");
      if (count == 0) throw Error(ExitCode::kUsage, "a model without parameters");
    });
    *averager = new eave_averager{{transport, options, {parameters, count}, {gradients, count}}};
  });
}

const char* eave_description(const eave_averager* averager) {
  return averager ? averager->averager.description().c_str() : "";
}

int eave_begin_step(eave_averager* averager, int64_t samples, int64_t samples_everywhere, double learning_rate) {
  return in_session([&](Transport&) {
    require(averager, "averager");
    averager->averager.begin_step(samples, samples_everywhere, learning_rate);
  });
}

int eave_before_update(eave_averager* averager, double loss_sum, int* updates) {
  return in_session([&](Transport&) {
    require(averager, "averager");
    require(updates, "updates");
    *updates = averager->averager.before_update(loss_sum) ? 1 : 0;
  });
}

int eave_after_update(eave_averager* averager) {
  return in_session([&](Transport&) {
    require(averager, "averager");
    averager->averager.after_update();
  });
}

int eave_consensus(eave_averager* averager, float* into) {
  return in_session([&](Transport&) {
    require(averager, "averager");
    require(into, "into");
    averager->averager.write_consensus({into, averager->averager.size()});
  });
}

int eave_sum(double* values, size_t count) {
  return in_session([&](Transport& transport) {
    if (count > 0) require(values, "values");
    const std::vector<double> sums = eave::sum_over_ranks(transport, {values, values + count});
    std::copy(sums.begin(), sums.end(), values);
  });
}

int eave_spent_by(eave_averager* averager, eave_spent* spent) {
  return in_session([&](Transport&) {
    require(averager, "averager");
    require(spent, "spent");
    const eave::TransportCounters counters = averager->averager.counters();
    *spent = {averager->averager.seconds_waiting(), counters.bytes, counters.calls};
  });
}

int eave_close(eave_averager* averager) {
  if (!averager) return 0;
  return in_session([&](Transport&) {
    const std::unique_ptr<eave_averager> owned(averager);
    averager->averager.finish();
  });
}
