#include "communicator/center/downpour_worker.h"

#include <algorithm>

#include "base/options/number_text.h"
#include "communicator/center/round_robin_limit.h"
#include "communicator/outer/look_ahead.h"
#include "communicator/support/periodic_options.h"
#include "kernels/cpu/center.h"

namespace eave {
namespace {

AsyncSettings resolve_downpour(const CommunicatorContext& context) {
  const std::int64_t tau = tau_in(context.values);
  warn_without_exchange(context, tau, "the center stays where it begins");
  return resolve_async(context, tau, true);
}

}  // namespace

std::vector<OptionSpec> downpour_options() {
  std::vector<OptionSpec> all = async_options();
  all.insert(all.begin(), tau_option());
  return all;
}

DownpourWorker::DownpourWorker(const CommunicatorContext& context, const std::optional<MovingAverage>& average)
    : AsyncCenter(context.transport, resolve_downpour(context), rule(average),
                  average ? Vectors{.count = 3, .equal = 2, .shown = 1} : Vectors{}),
      average_(average),
      look_ahead_(describe_pushed_iterates(context)) {}

CenterRule DownpourWorker::rule(const std::optional<MovingAverage>& average) {
  return [average](std::span<const Slice> vectors, Slice message, std::int64_t exchanges) {
    cpu::push_and_pull(vectors[0], message);
    if (average) cpu::move_average(vectors[1], vectors[2], vectors[0], average->share(exchanges + 1));
  };
}

void DownpourWorker::begin_worker() { replica().device->copy(message(), replica().parameters); }

void DownpourWorker::after_update(const Step& step) {
  if (!exchanges_in(step)) return;
  replica().device->write_displacement(message(), replica().parameters, step.ahead);
  send();
  settle();
  replica().device->write_parameters(replica().parameters, message(), step.ahead);
}

void DownpourWorker::reset_to_center(const ReplicaView& replica) {
  AsyncCenter::reset_to_center(replica);
  begin_worker();
}

void DownpourWorker::join(const Joining& joining) {
  if (joining.goes_on) return;
  replica().device->wait();  // earlier writes of the center may still be in the device's queue
  replica().device->write(replica().parameters, vector_of_center(0));
  begin_worker();
}

std::vector<Slice> DownpourWorker::state() {
  std::vector<Slice> state = AsyncCenter::state();
  state.push_back(message());
  return state;
}

std::string DownpourWorker::equation() const {
  const std::int64_t tau = settings().tau;
  const std::string p = count_text(workers(), "worker");
  return "x_i <- x_i - step_i;  after every tau-th step c <- c + (x_i - b_i), x_i <- c, b_i <- c, each worker on its "
         "own clock" +
         (average_ ? "\nevaluated is z <- (1 - a) z + a c after each push; " + average_->describe() : "") +
         "\ntau = " + count_text(tau, "step") + ", p = " + p +
         "; a worker's optimizer vectors stay with it (published: plain sgd, whose x_i - b_i is the sum of -lr "
         "g)\n" +
         describe_async(settings()) +
         "\nno elastic force: the pushes of all workers add up, so the effective rate grows with p tau, and above a "
         "limit c diverges;\nin round-robin order, without momentum, it is stable for lr h < " +
         number_text(largest_rate_times_curvature(workers(), tau)) + " on curvature h, where 1 - (1 - lr h)^tau < " +
         number_text(round_robin_limit(workers(), 0)) + "; " + kLocalRate + look_ahead_;
}

}  // namespace eave
