// The pluggable part of eave: what is averaged between replicas, and when.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eave/device.h"
#include "eave/options.h"
#include "eave/slice.h"
#include "eave/transport.h"

namespace eave {

class MomentExchange;  // compute.h

// The numbers of one replica, as plain slices: a trainer other than eave's can fill it too. All on one device, at the
// same address from begin() on. They outlive the communicator, also when an exception unwinds: an exchange may be in
// flight.
struct ReplicaView {
  Slice parameters;  // x
  Slice gradients;   // as large as parameters
  Slice statistics;  // batch-norm statistics; may be empty
  // The optimizer's vectors (momentum first), each as large as parameters; none with plain SGD.
  std::vector<Slice> optimizer = {};
  Device* device = &cpu_device();  // in whose memory all of them lie; used by the thread that calls the communicator
  // The optimizer's count of its updates, if its rule depends on it (bias correction). Whoever sets the vectors to 0
  // sets it to 0 too: forget_optimizer().
  std::int64_t* updates = nullptr;
};

// The optimizer begins anew: its vectors and its count of updates become 0.
void forget_optimizer(const ReplicaView& replica);

// How a run goes on with another number of ranks (--resume elastic).
struct Joining {
  // This rank was a worker before, and has its own parameters and optimizer state back. False: it holds the consensus.
  bool goes_on = false;
  int former_workers = 0;
};

// One optimizer step, the same on every rank except `samples` and `loss_sum`.
struct Step {
  std::int64_t index = 0;               // from 0 over the whole run
  std::int64_t samples = 0;             // this rank's in this step; may be 0
  std::int64_t samples_everywhere = 0;  // summed over ranks: > 0
  double learning_rate = 0;
  Ahead ahead{};        // how parameters stand to the iterate before and after this step's update
  double loss_sum = 0;  // over this rank's samples; where wants_loss() it is known from before_update on
};

struct CommunicatorCosts {
  double seconds_waiting = 0;  // the compute thread was blocked in Pending::wait: for other ranks, or for the wire
};

// What an asynchronous method has to tell at the end of a run; empty for all others.
struct ExchangeReport {
  std::int64_t exchanges = 0;           // of this worker, since the run began or was resumed
  std::vector<std::int64_t> staleness;  // rank 0, [k]: how often k exchanges of others lay between two of a worker
  std::string order;                    // rank 0: the file exchanges.order, for a replay
  bool order_is_too_long = false;       // more than 64 MiB: it was not kept
};

// Called by the one compute thread of a rank, in this order: begin, then per step [before_gradients, gradient_weight,
// gradient_ready …, before_update, update if updates(step), after_update], finish. All ranks call with the same steps.
// `consensus` may be called between steps.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // Collective: all leave with rank 0's parameters and statistics. Buffers are allocated here, none later.
  // Throws Error(kConfiguration) when the ranks' replicas differ in size.
  virtual void begin(const ReplicaView& replica) = 0;
  // Parameters may change here, once for the whole step; or an exchange of them starts behind the gradients.
  virtual void before_gradients(const Step& step);
  // By what the gradient of this rank's mean loss is multiplied in backward: n_i / Σ n_j where gradients are averaged,
  // 1 where each replica trains on its own.
  virtual float gradient_weight(const Step& step) const;
  // Above 0: what is handed over is, of each part of `micro_batches` that the samples of all ranks are cut into in
  // their order, the gradient with the gradient_weight of its samples, and those of this rank summed in pairs,
  // neighbours first; of the statistics likewise. 0: the gradient of this rank's batch.
  virtual int micro_batches() const { return 0; }
  // Not nullptr: batch norm is over the batches of all ranks, by this (Model::normalise_over), in every step and on
  // every rank; it is called between the same calls of gradient_ready on all. It lives as long as the communicator.
  virtual MomentExchange* moments() { return nullptr; }
  // Whether gradient_ready is to be called in this step. Asked for after before_gradients.
  virtual bool wants_gradients() const { return false; }
  // Backward is done with this part of replica.gradients: its exchange may start. Every element at most once, from the
  // end of the arena to its beginning without gaps; parts may differ from rank to rank.
  virtual void gradient_ready(Slice part);
  // Gradients are complete on all parts, also those that gradient_ready was not told of. Waits where the method needs
  // other ranks' gradients. A Pull that comes back must be applied in this step's update: after_update sends its
  // difference.
  [[nodiscard]] virtual std::optional<Pull> before_update(const Step& step);
  // Whether after_update needs step.loss_sum. A device that computes behind the host has to be waited for then.
  virtual bool wants_loss() const { return false; }
  // Whether the optimizer moves this replica in this step: with samples of its own, or with gradients that are averaged
  // over all ranks. Where it does not, a Pull is applied alone.
  virtual bool updates(const Step& step) const;
  // Parameters have moved.
  virtual void after_update(const Step& step);
  // The model that is evaluated and saved: the center, or the parameters, in the replica's device's memory. Collective;
  // waits for what is in flight.
  // The slice stays valid and unchanged until the next step.
  virtual ConstSlice consensus() = 0;
  // Whether that is rank 0's worker and nobody else's: then its batch-norm statistics go with it.
  virtual bool consensus_is_first_worker() const { return false; }
  // Collective, between steps: every replica begins anew from the consensus and from rest. Parameters become
  // consensus(), the optimizer begins anew, and what the method keeps of steps since the last exchange is forgotten.
  // Only where the method's traits say so. An exchange in flight arrives first. An elastic method's sum of workers and
  // center is not kept here.
  virtual void reset_to_center(const ReplicaView& replica);
  // What a checkpoint keeps of the method beside the replica's: vectors as large as the parameters (the center), and
  // counts, each of a fixed size (empty before begin where memory is allocated there). Writing the slices restores all.
  // Each lies in the device's memory or in the host's.
  // To save: call consensus() first, then read. To restore: call begin() first, then write.
  virtual std::vector<Slice> state() { return {}; }
  // The slices of state() that are the same on all ranks by the method's rule (a center, its velocity). If a run goes
  // on with another number of ranks, every rank gets them from rank 0's file.
  virtual std::vector<Slice> common_state() { return {}; }
  // The slices of state() that belong to one worker (what it has not sent yet, what it dropped). If a run goes on with
  // another number of ranks, each worker that was there before gets its own.
  virtual std::vector<Slice> own_state() { return {}; }
  // Collective, after begin and after those were written, when a run goes on with another number of ranks. A worker
  // that is new holds the consensus; a method whose workers begin elsewhere moves it there.
  virtual void join(const Joining& /*joining*/) {}
  // After after_update: what is the same on all ranks now, bit by bit, whatever their data; empty: nothing is. On all
  // ranks alike. Read without waiting: what an exchange in flight will bring is not in it.
  virtual std::vector<Slice> replicated() { return {}; }
  // Of methods whose traits say exchanges_together: the step that began an exchange for which the ranks have not waited
  // so far, so that whoever waits now for another collective would wait for that one too; nullopt: there is none. By
  // what has been called, not by what has arrived: on all ranks alike.
  virtual std::optional<std::int64_t> exchange_under_way() const { return std::nullopt; }
  // Collective; drains what is in flight. Nothing but consensus(), costs() and report() may follow.
  virtual void finish() = 0;
  // After finish.
  virtual ExchangeReport report() const { return {}; }

  // The formula in force with its numbers, in lines of ASCII: printed at start and kept in the metrics header.
  virtual std::string equation() const = 0;
  virtual CommunicatorCosts costs() const = 0;
};

// How every begin() begins. Collective: leaves all ranks with rank 0's parameters and statistics. Returns the seconds
// it blocked. Throws Error(kConfiguration) on all ranks when their replicas differ in size.
double share_replica(Transport& transport, const ReplicaView& replica);

// Facts about a method that trainers and reports need.
struct CommunicatorTraits {
  bool averages_gradients = false;  // a step works on the batches of all ranks: the learning rate may scale with them
  bool has_center = false;          // consensus() is a variable of its own, not the replica's parameters
  bool resets_to_center = false;    // reset_to_center may be called: the consensus is where the next exchange meets
  // False: the method moves the parameters itself, by the gradients; updates() is never true. Of the optimizer's
  // options only --weight-decay has a meaning.
  bool uses_optimizer = true;
  bool only_one_rank = false;  // make throws Error(kUsage) for more
  bool compresses = true;      // --compression has a meaning: ranks exchange something while they train
  // Every exchange is among all ranks, after the same steps on each. So another collective between two of them makes
  // nobody wait who would not wait at the next one.
  bool exchanges_together = false;
};

struct CommunicatorContext {
  Transport& transport;
  const OptionValues& values;
  double learning_rate = 0;            // the first step's, for ρ = α/η
  std::vector<std::string>& warnings;  // appended to by rank 0's maker; the caller prints them once
  std::int64_t steps = 0;              // of the whole run; 0: not known
  std::int64_t first_step = 0;         // above 0: the run is resumed before this step
  std::uint64_t seed = 0;              // of the run
  // Options of the run that its numbers depend on, as resolved: name and text.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<std::string> hosts = {};  // of every rank, in rank order; empty: all on one
  int optimizer_vectors = -1;           // that the replica will have; -1: begin() will tell
};

// A member of the communicator family: one file in src/communicator/methods and one word in its CMake list.
struct CommunicatorKind {
  std::string name;
  std::string summary;
  CommunicatorTraits traits;
  std::vector<OptionSpec> options;  // used by this method; given with another method they are an error
  // Throws Error(kUsage) when options contradict each other. Not collective.
  std::unique_ptr<Communicator> (*make)(const CommunicatorContext& context);
};

// Those of plug-ins follow eave's own.
const std::vector<CommunicatorKind>& communicator_kinds();

// Of a job's ranks those that train are 0 … n − 1, n is returned. The others keep the center (--center-ranks) and do
// nothing else: of a step they call before_gradients alone. Throws Error(kUsage) where nobody would train.
int count_workers(const CommunicatorKind& kind, const OptionValues& values, int ranks);

}  // namespace eave

// Makes a shared object a plug-in that brings one method: `eave train --plugin FILE`. Once in it, at global scope;
// `describe` returns its CommunicatorKind. Nothing of eave is linked into it. There is no stable binary interface: it
// works with an eave that has the same headers, and any other refuses it. EAVE_HEADERS stands for these and comes with
// `pkg-config --cflags eave` or CMake's target eave::headers.
#define EAVE_COMMUNICATOR_PLUGIN(describe)                                     \
  extern "C" unsigned long long eave_plugin_headers() { return EAVE_HEADERS; } \
  extern "C" void eave_plugin_kind(eave::CommunicatorKind& kind) { kind = describe(); }
