// The worker's side of an asynchronous center, common to all methods that have one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/center_shards.h"
#include "communicator/encoded_message.h"
#include "communicator/exchange_log.h"
#include "eave/communicator.h"

namespace eave {

struct AsyncSettings {
  int workers = 1;       // ranks 0 .. workers - 1 train
  int center_ranks = 0;  // the ranks after them keep the center; 0: the workers do
  std::int64_t tau = 1;
  bool after_steps = false;  // exchanges follow steps tau, 2 tau …; else they belong to steps t = 0, tau, 2 tau …
  ExchangeOrder::Kind order = ExchangeOrder::Kind::kFree;
  std::size_t longest_shard = 0;  // parameters; 0: as in the log
  std::int64_t first_step = 0, steps = 0;
  std::shared_ptr<const Codec> codec;      // of messages and replies
  Settings settings;                       // of the run, for its log
  std::shared_ptr<const ExchangeLog> log;  // to replay
};

// --async-order, --replay, --shard-bytes, --center-ranks.
std::vector<OptionSpec> async_options();
// Throws Error(kUsage), and for a file to replay also kInputMissing and kBadData.
AsyncSettings resolve_async(const CommunicatorContext& context, std::int64_t tau, bool after_steps = false);
// --center-ranks of a job of so many ranks. Throws Error(kUsage) where nobody would train.
int center_ranks_in(const OptionValues& values, int ranks);
// What the card says of the order, and of compression.
std::string describe_async(const AsyncSettings& settings);

// Every rank is a worker and keeps shards of the center, or the last --center-ranks keep them all and do not train. A
// worker exchanges every tau steps, at its own pace: it sends its message, a request per shard, and gets each shard's
// reply in its place. The center lies in the owners' host memory whatever their device (pinned where that is a GPU).
//
// --compression bf16 or fp16: messages and replies are rounded, those to a worker's own shards too. There is no error
// feedback. int8 and top-k are refused: each way, something goes that is no difference.
class AsyncCenter : public Communicator {
 public:
  void begin(const ReplicaView& replica) override;
  void before_gradients(const Step& step) override;
  ConstSlice consensus() override;
  std::vector<Slice> state() override;
  std::vector<Slice> common_state() override { return AsyncCenter::state(); }  // the center's vectors
  void finish() override;
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }
  ExchangeReport report() const override { return report_; }

 protected:
  // `count`: how many vectors the method keeps at the center, that included; the first `equal` begin as copies of the
  // parameters, the others as zeros. `shown`: which of them is the consensus.
  struct Vectors {
    std::size_t count = 1;
    std::size_t equal = 1;
    std::size_t shown = 0;
  };
  AsyncCenter(Transport& transport, AsyncSettings settings, CenterRule rule, Vectors vectors);
  ~AsyncCenter() override;

  // The rest of begin and before_gradients, for the method.
  virtual void begin_worker() {}
  virtual void before_gradients_of_worker(const Step& step) = 0;

  bool exchanges_in(const Step& step) const { return (step.index + settings_.after_steps) % settings_.tau == 0; }
  Slice message() { return message_.slice(); }
  void send();    // message() is on its way, and may not be touched
  void settle();  // until the reply stands in message()

  const ReplicaView& replica() const { return replica_; }
  const AsyncSettings& settings() const { return settings_; }
  int workers() const { return settings_.workers; }
  // A vector of the center, whole, between begin and the first step.
  ConstSlice vector_of_center(std::size_t i) const { return snapshots_[i].slice(); }

 private:
  bool is_worker() const { return transport_.rank() < settings_.workers; }
  ExchangeOrder order() const;
  void open_center();
  std::size_t shard_size(std::size_t size, std::size_t owners) const;
  std::vector<std::size_t> order_of_shards() const;  // in which this worker asks for them
  void wait_in(const std::function<void()>& collective);
  void take_snapshot();
  void write_report();
  bool has_order() const;
  bool keeps_order() const;
  void write_order();

  Transport& transport_;
  const AsyncSettings settings_;
  const CenterRule rule_;
  const Vectors vectors_;
  ReplicaView replica_;
  std::optional<CenterLayout> layout_;
  std::vector<Buffer> snapshots_;         // of the center's vectors, whole: as consensus() found them
  std::unique_ptr<CenterShards> shards_;  // from the first step on
  Buffer shown_;    // on a device other than the CPU: a copy of the snapshot that is the consensus
  Buffer message_;  // on the device
  EncodedMessage encoded_;
  std::vector<ServiceRequest> requests_;
  Pending exchange_;
  bool in_flight_ = false;
  bool is_snapshot_of_now_ = false;
  std::int64_t exchanges_ = 0;  // of this worker
  double seconds_waiting_ = 0;
  ExchangeReport report_;
};

}  // namespace eave
