#include "communicator/center/downpour_worker.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>

#include "base/options/number_text.h"
#include "communicator/support/local_steps.h"
#include "eave/agreement.h"
#include "kernels/flat/flat_pass.h"

namespace eave {
namespace {

AsyncSettings resolve_downpour(const CommunicatorContext& context) {
  const std::int64_t tau = tau_in(context.values);
  warn_without_exchange(context, tau, "the center stays where it begins");
  return resolve_async(context, tau, true);
}

constexpr int kPoints = 20000;

// The q for which e^{i·angle} is a root. Only a real and positive q has a meaning.
std::complex<double> q_at(double angle, int workers, double momentum) {
  const std::complex<double> root = std::polar(1.0, angle), lag = std::polar(1.0, angle * (workers - 1));
  return -lag * (root - 1.0) * (root - momentum) / ((1 + momentum) * root - momentum);
}

// Finds the real q between the angles `low` and `high`, at which q's imaginary part has different signs, by bisection.
double real_q_between(double low, double high, int workers, double momentum) {
  const bool begins_below = q_at(low, workers, momentum).imag() < 0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (q_at(middle, workers, momentum).imag() < 0) == begins_below ? low = middle : high = middle;
  }
  return q_at(low, workers, momentum).real();
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
      is_batch_total_(std::ranges::find(context.settings, std::pair<std::string, std::string>(
                                                              "batch-means", "total")) != context.settings.end()),
      look_ahead_(describe_pushed_iterates(context)) {}

CenterRule DownpourWorker::rule(const std::optional<MovingAverage>& average) {
  return [average](std::span<const Slice> vectors, Slice message, std::int64_t exchanges) {
    cpu::run({passes::PushAndPull{}, {vectors[0], message}});
    if (average) cpu_device().move_average(vectors[1], vectors[2], vectors[0], average->share(exchanges + 1));
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

// Another number of workers has pushed another number of times in as many steps. Steps that are counted anew by samples
// stand for as many pushes, if the batch of all ranks grows with their number.
void DownpourWorker::require_known_updates(const Joining& joining) const {
  if (!average_ || !average_->counts_updates() || joining.former_workers == workers()) return;
  if (!joining.counts_steps_anew)
    throw AgreedError(ExitCode::kConfiguration,
                      "the state was saved by " + count_text(joining.former_workers, "worker") +
                          ", and now there are " + std::to_string(workers()) +
                          ". The number of pushes so far is not known then, and the average of adownpour depends on "
                          "it. Restore it on as many ranks as before, or begin anew");
  if (!is_batch_total_) return;
  throw AgreedError(ExitCode::kConfiguration,
                    "--resume elastic: the run had " + count_text(joining.former_workers, "worker") + ", now it has " +
                        std::to_string(workers()) +
                        ". With --batch-means total the number of pushes so far is not known then, and the average of "
                        "adownpour depends on it. Give as many workers as before, or begin anew in another directory");
}

void DownpourWorker::join(const Joining& joining) {
  require_known_updates(joining);
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

double round_robin_limit(int workers, double center_momentum) {
  if (center_momentum == 0) return 2 * std::sin(std::numbers::pi / (4 * workers - 2));
  const double at_minus_one = q_at(std::numbers::pi, workers, center_momentum).real();
  double limit = at_minus_one > 0 ? at_minus_one : std::numeric_limits<double>::infinity();
  // Points are densest near angle 0, because much momentum or many workers place the first crossing there.
  double before = std::numbers::pi / kPoints / kPoints;
  for (int point = 2; point < kPoints; ++point) {
    const double angle = std::numbers::pi * std::pow(static_cast<double>(point) / kPoints, 2);
    const bool crosses =
        (q_at(angle, workers, center_momentum).imag() < 0) != (q_at(before, workers, center_momentum).imag() < 0);
    const double q = crosses ? real_q_between(before, angle, workers, center_momentum) : -1;
    if (q > 0) limit = std::min(limit, q);
    before = angle;
  }
  return limit;
}

double largest_rate_times_curvature(int workers, std::int64_t tau) {
  // With 1 and 2 workers q's limits are 2 and 1. Whatever τ is, 1 − (1 − ηh)^τ first leaves [0, limit) at ηh = 2 and at
  // ηh = 1.
  if (workers <= 2) return workers == 1 ? 2 : 1;
  return 1 - std::pow(1 - round_robin_limit(workers, 0), 1 / static_cast<double>(tau));
}

}  // namespace eave
