// The pluggable part of eave: what is averaged between replicas, and when.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eave/device.h"
#include "eave/exchange_pattern.h"
#include "eave/options.h"
#include "eave/slice.h"
#include "eave/transport.h"
#include "eave/update_steps.h"

namespace eave {

class MomentExchange;  // compute.h

// The arrays of one replica, as plain slices, so that a trainer other than eave's can fill it too. All slices lie on
// one device and stay at the same addresses from begin() on. Their memory must outlive the communicator, also when an
// exception unwinds the stack, because an exchange may be in flight.
struct ReplicaView {
  Slice parameters;  // x. The padding between its tensors (slice.h) must stay 0
  Slice gradients;   // as large as `parameters`. Evaluations use them as scratch memory
  Slice statistics;  // batch-norm statistics; may be empty
  // The optimizer's state vectors (momentum first), each as large as `parameters`. Plain SGD has none.
  std::vector<Slice> optimizer = {};
  // All slices lie in this device's memory. The thread that calls the communicator uses the device.
  Device* device = &cpu_device();
  // The optimizer's count of its updates, or nullptr if its formula does not depend on the count (bias correction
  // does). Code that sets the vectors to 0 must set the count to 0 too: use forget_optimizer().
  std::int64_t* updates = nullptr;
};

// Resets the optimizer: its state vectors and its count of updates become 0.
void forget_optimizer(const ReplicaView& replica);

// Tells Communicator::join how this rank resumes a run with another number of ranks (--resume elastic).
struct Joining {
  // True: this rank was a worker before, and its own parameters and optimizer state have been restored.
  // False: this rank is new and holds the consensus.
  bool goes_on = false;
  int former_workers = 0;  // number of workers before
  // True: the steps so far have been counted anew, so that they stand for as many samples as before (`eave train`).
  // False: they are as many as before.
  bool counts_steps_anew = false;
};

// One optimizer step. All fields except `samples` and `loss_sum` are equal on every rank.
struct Step {
  std::int64_t index = 0;               // counted from 0 over the whole run
  std::int64_t samples = 0;             // samples of this rank in this step; may be 0
  std::int64_t samples_everywhere = 0;  // sum of `samples` over all ranks; above 0
  double learning_rate = 0;
  Ahead ahead{};  // distance from the iterate to the parameters, before and after this step's update
  // Summed over this rank's labels; valid from before_update on if wants_loss() is true. NaN or infinite if the loss is
  // not finite.
  double loss_sum = 0;
};

struct CommunicatorCosts {
  double seconds_waiting = 0;  // seconds in which the compute thread was blocked on other ranks or on the network
};

// The report of an asynchronous method on a run. Other methods leave it empty.
struct ExchangeReport {
  std::int64_t exchanges = 0;  // exchanges of this worker since the run began or was resumed
  // Rank 0 only. Entry k counts the pairs of consecutive exchanges of a worker that had k exchanges of other workers
  // between them.
  std::vector<std::int64_t> staleness;
  std::string order;               // rank 0 only: content of the file exchanges.order, from which a run is replayed
  bool order_is_too_long = false;  // the order was dropped because it exceeded 64 MiB
};

// An averaging method. One thread per rank, its compute thread, makes all calls, in this order: begin; then per step
// before_gradients, gradient_weight, gradient_ready (once per part), before_update, the optimizer's update if
// updates(step), after_update; at the end finish. All ranks call with the same steps. consensus may be called between
// steps.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // Collective. Gives all ranks rank 0's parameters and statistics. Allocates all buffers; later calls allocate none.
  // Right after begin, consensus() equals rank 0's parameters bit for bit. Throws Error(kConfiguration) if the ranks'
  // replicas differ in size.
  virtual void begin(const ReplicaView& replica) = 0;
  // Called before the gradients are computed. This is the step's one chance to change the parameters before its
  // gradients are taken. The method may also start an exchange of parameters, which runs while the rank computes.
  virtual void before_gradients(const Step& step);
  // The factor by which backward multiplies the gradient of this rank's mean loss: n_i / Σ n_j if the method averages
  // gradients, where n_i are the samples of rank i; 1 if each replica trains on its own. A method that averages
  // gradients overrides updates() too.
  virtual float gradient_weight(const Step& step) const;
  // 0: this rank hands over the gradient of its whole batch.
  // Above 0: the samples of all ranks, in rank order, are cut into this many parts (micro-batches). This rank hands
  // over the sum of the gradients of its own parts, each with the gradient_weight of its samples. The sum is taken in
  // pairs, neighbours first. The statistics are summed likewise. The number of parts is a power of two and the same in
  // every step, and so is the number of ranks, which may not be larger; wants_gradients() is true. eave refuses
  // --accumulate, --sampling whole and --lr-scaling then.
  virtual int micro_batches() const { return 0; }
  // If not nullptr, batch norm normalises over the batches of all ranks, in every step and on every rank: the trainer
  // gives the exchange to Model::normalise_over. Then all ranks call the exchange's methods between the same calls of
  // gradient_ready. The exchange lives as long as the communicator. On the CPU only, and without --accumulate.
  virtual MomentExchange* moments() { return nullptr; }
  // Whether the trainer must call gradient_ready in this step. Asked after before_gradients.
  virtual bool wants_gradients() const { return false; }
  // Backward has finished this part of replica.gradients, so its exchange may start. Parts come from the end of the
  // array to its beginning, without gaps and without overlap. They may be cut differently on each rank.
  virtual void gradient_ready(Slice part);
  // All gradients are complete, also parts for which gradient_ready was not called. Blocks if the method needs the
  // gradients of other ranks. If a Pull is returned, the caller must apply it in this step's update, because
  // after_update sends its difference. Its slices are as large as the parameters and lie on the replica's device. They
  // live as long as the communicator, because a device may carry out the update later.
  [[nodiscard]] virtual std::optional<Pull> before_update(const Step& step);
  // Whether after_update needs step.loss_sum. If so, the trainer must wait in each step for a device that computes
  // asynchronously.
  virtual bool wants_loss() const { return false; }
  // Whether the optimizer updates this replica in this step: because the rank has samples, or because the gradients are
  // averaged over all ranks. If it returns false, the caller applies the Pull without an optimizer step. By default
  // only a rank with samples updates. If a method averages gradients it must return true, or a rank without samples
  // stays behind the others.
  virtual bool updates(const Step& step) const;
  // The parameters have been updated.
  virtual void after_update(const Step& step);
  // Whether after_update, or the next step before it has gradients, reads the parameters that this step's update makes.
  // If not, the caller need not have checked yet that they are finite.
  virtual bool reads_parameters_after(const Step& step) const;
  // Collective. The model that is evaluated and saved: the center, or the parameters. All ranks must return the same
  // bits, after any step. Waits for exchanges in flight. The slice lies in the memory of the replica's device. It stays
  // valid and unchanged until the next step. eave may also call it right after begin(), before it restores state().
  virtual ConstSlice consensus() = 0;
  // The caller may have changed the parameters since the last consensus, so the next one is computed anew.
  virtual void forget_consensus() {}
  // Whether the consensus is rank 0's replica alone. If so, rank 0's batch-norm statistics belong to it.
  virtual bool consensus_is_first_worker() const { return false; }
  // Collective, between steps. Waits for an exchange in flight, sets the parameters to consensus() and resets the
  // optimizer. The method also forgets what it keeps of the steps since the last exchange. May be called only if
  // CommunicatorTraits::resets_to_center is true. The call does not conserve an elastic method's sum of workers and
  // center.
  virtual void reset_to_center(const ReplicaView& replica);
  // The state that a checkpoint must keep of the method, besides the replica: vectors as large as the parameters (such
  // as the center) and counts. Writing into these slices restores the method, so they and the replica must hold
  // everything that consensus() and later steps read. begin() may allocate them; when it returns, their number and
  // their sizes are final. A slice lies in the device's memory or in host memory.
  // To save, call consensus() and then read the slices. To restore, call begin() and then write them.
  // A count that is kept in one float stops at 16,777,216: use CheckpointedNumbers.
  virtual std::vector<Slice> state() { return {}; }
  // The slices of state() that the method keeps equal on all ranks (a center, its velocity), with the same addresses
  // and sizes. If a run is resumed with another number of ranks, every rank gets them from rank 0's file.
  virtual std::vector<Slice> common_state() { return {}; }
  // The slices of state() that belong to one worker (values not sent yet, residuals of compression), with the same
  // addresses and sizes. If a run is resumed with another number of ranks, each former worker gets its own slices back.
  virtual std::vector<Slice> own_state() { return {}; }
  // Collective. Called when a run is resumed with another number of ranks, after begin() and after the slices above
  // have been written. A new worker holds the consensus; if the method starts its workers elsewhere, it moves this one.
  virtual void join(const Joining& /*joining*/) {}
  // Called after after_update. The slices that are equal on all ranks now, bit by bit, whatever their data; empty if
  // there are none. All ranks return the same slices. The call does not wait, so the result of an exchange in flight
  // is not in them. Override it if the method has CommunicatorTraits::exchanges_together: otherwise eave cannot compare
  // the replicas. eave may call it between `make` and begin(), to learn whether the method has such slices. Then it
  // must return at least one, which may be of size 0.
  virtual std::vector<Slice> replicated() { return {}; }
  // For methods with CommunicatorTraits::exchanges_together. The step that started an exchange for which the ranks have
  // not waited yet, or nullopt if there is none. A rank that now waits for another collective would wait for that
  // exchange too. The answer depends on the calls made, not on what has arrived, so it is equal on all ranks.
  virtual std::optional<std::int64_t> exchange_under_way() const { return std::nullopt; }
  // Whether exchanges follow the order of an earlier run. If not, next_meeting(steps) is always `steps`.
  virtual bool follows_recorded_order() const { return false; }
  // The first number of steps, `steps` or more, after which all ranks can wait for each other. It is larger than
  // `steps` if the recorded order makes one rank wait in these steps for an exchange that another rank starts in a
  // later step. Call it after begin(); the answer is equal on all ranks.
  virtual std::int64_t next_meeting(std::int64_t steps) const { return steps; }
  // Collective. Waits for everything in flight. Only consensus(), costs() and report() may be called afterwards.
  // consensus() then makes no transport call, so compute the last consensus in finish().
  virtual void finish() = 0;
  // Called after finish(), or between a consensus and the next step. In the second case `order` is still empty, and
  // rank 0 knows `staleness` if it keeps a part of the center.
  virtual ExchangeReport report() const { return {}; }

  // The method's formula with the numbers of this run, as lines of ASCII. It contains "p = N", with N the number of
  // ranks. It is printed at start and stored in the header of metrics.jsonl.
  virtual std::string equation() const = 0;
  virtual CommunicatorCosts costs() const = 0;
};

// Integers and doubles of a method that a checkpoint must keep, stored exactly in a slice of floats: each float holds
// 16 bits. The slice is the only storage, so writing it restores the numbers. All begin as 0.
class CheckpointedNumbers {
 public:
  explicit CheckpointedNumbers(std::size_t count) : floats_(count * kFloats) {}

  std::int64_t integer(std::size_t i) const { return static_cast<std::int64_t>(bits(i)); }
  double real(std::size_t i) const { return std::bit_cast<double>(bits(i)); }
  void set(std::size_t i, std::int64_t value) { set_bits(i, static_cast<std::uint64_t>(value)); }
  void set(std::size_t i, double value) { set_bits(i, std::bit_cast<std::uint64_t>(value)); }
  Slice slice() { return floats_; }

 private:
  static constexpr std::size_t kFloats = 4;

  std::uint64_t bits(std::size_t i) const {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < kFloats; ++k) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint16_t>(floats_[kFloats * i + k])) << (16 * k);
    }
    return value;
  }

  void set_bits(std::size_t i, std::uint64_t value) {
    for (std::size_t k = 0; k < kFloats; ++k) {
      floats_[kFloats * i + k] = static_cast<float>(static_cast<std::uint16_t>(value >> (16 * k)));
    }
  }

  std::vector<float> floats_;
};

// Every begin() calls this first. Collective: gives all ranks rank 0's parameters and statistics. Returns the seconds
// for which it blocked. Throws Error(kConfiguration) on all ranks if their replicas differ in size.
double share_replica(Transport& transport, const ReplicaView& replica);

// Facts about a method that trainers, comparisons and plans need.
struct CommunicatorTraits {
  ExchangePattern exchanges = ExchangePattern::kBlockingSums;  // how ranks exchange values while they train
  bool averages_gradients = false;  // a step uses the batches of all ranks, so the learning rate may scale with them
  // consensus() may differ from this replica's own parameters. Despite the name, methods without a center have it too;
  // only `allreduce` does not.
  bool has_center = false;
  // reset_to_center may be called: the next exchange starts from the consensus too.
  bool resets_to_center = false;
  // False: the method itself moves the parameters by the gradients, and updates() is never true. Of the optimizer's
  // options only --weight-decay has an effect.
  bool uses_optimizer = true;
  bool only_one_rank = false;  // `make` throws Error(kUsage) if there are more ranks
  bool compresses = false;     // `make` asks for the codec of --compression. False: eave refuses the option
  // Every exchange includes all ranks, after the same steps on each. Then an extra collective between two exchanges
  // delays no rank that the next exchange would not delay anyway.
  bool exchanges_together = false;
};

// The arguments of CommunicatorKind::make. `transport` must outlive the communicator.
struct CommunicatorContext {
  Transport& transport;
  const OptionValues& values;
  double learning_rate = 0;            // η of the first step, for ρ = α/η
  std::vector<std::string>& warnings;  // `make` appends warnings on rank 0; the caller prints them once
  std::int64_t steps = 0;              // steps of the whole run; 0 if not known
  std::int64_t first_step = 0;         // if above 0, the run is resumed before this step
  std::uint64_t seed = 0;              // seed of the run
  // The options that the run's numeric results depend on, after defaults are resolved: name and text.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<std::string> hosts = {};  // host of every rank, in rank order; empty if all ranks share one host
  int optimizer_vectors = -1;           // number of ReplicaView::optimizer vectors; -1 if known only at begin()
  bool* asked_for_codec = nullptr;      // `make` sets it when it asks for the codec of --compression
};

// A member of the communicator family: one file in src/communicator/methods and one word in its CMake list.
struct CommunicatorKind {
  std::string name;
  std::string summary;
  CommunicatorTraits traits;
  // Options of this method; if given with another method, they are an error. An option that another method has too must
  // have its type and choices. Call the steps between two exchanges `tau`: eave plan, suggest and compare read it.
  std::vector<OptionSpec> options;
  // Throws Error(kUsage) if options contradict each other. Not collective.
  std::unique_ptr<Communicator> (*make)(const CommunicatorContext& context);
  // Settings of the options above, such as {"overlap", "off"}. With one of them ranks wait for each exchange, although
  // traits.exchanges is a pattern that hides it behind the following steps.
  std::vector<std::pair<std::string, std::string>> waits_with = {};
};

// All methods: eave's own first, then those of plug-ins.
const std::vector<CommunicatorKind>& communicator_kinds();

// Calls kind.make. Throws Error(kUsage) if a given option has no effect with the method: --compression if `make` did
// not ask for the codec, and --replica-hash-every or --on-replica-fault if replicated() returns nothing. Not
// collective.
std::unique_ptr<Communicator> make_communicator(const CommunicatorKind& kind, CommunicatorContext context);

// Returns n, the number of ranks that train; these are ranks 0 … n − 1. The other ranks only keep the center
// (--center-ranks): in a step they call before_gradients and nothing else. Throws Error(kUsage) if no rank would train.
int count_workers(const CommunicatorKind& kind, const OptionValues& values, int ranks);

// Identifies what a plug-in and eave must have in common: the headers, and the layout of the standard library's types,
// which depends on the compiler's modes. It must be a constant in both: a call could reach the other's function.
consteval unsigned long long plugin_interface(unsigned long long headers) {
#ifdef _GLIBCXX_USE_CXX11_ABI
  headers += _GLIBCXX_USE_CXX11_ABI;
#endif
  for (const unsigned long long size : {sizeof(std::string), sizeof(std::vector<int>), sizeof(OptionValues),
                                        sizeof(CommunicatorContext), sizeof(CommunicatorKind)})
    headers = (headers ^ size) * 0x100000001b3;
  return headers;
}

}  // namespace eave

// Turns a shared object into a plug-in that adds one method: `eave train --plugin FILE`. Use it once per shared object,
// at global scope. `describe` is a function that returns the method's CommunicatorKind. Nothing of eave is linked into
// a plug-in. There is no stable binary interface: eave refuses a plug-in that was compiled with other headers, or by a
// compiler or in a mode whose types have another layout (-D_GLIBCXX_DEBUG).
// EAVE_HEADERS identifies the headers; `pkg-config --cflags eave` and CMake's target eave::headers define it.
#ifdef EAVE_HEADERS
#define EAVE_COMMUNICATOR_PLUGIN(describe)                            \
  extern "C" unsigned long long eave_plugin_headers() {               \
    constexpr auto kInterface = eave::plugin_interface(EAVE_HEADERS); \
    return kInterface;                                                \
  }                                                                   \
  extern "C" void eave_plugin_kind(eave::CommunicatorKind& kind) { kind = describe(); }
#else
#define EAVE_COMMUNICATOR_PLUGIN(describe) \
  static_assert(false, "compile a plug-in with $(pkg-config --cflags eave), which defines EAVE_HEADERS");
#endif
