// The worker's side of an asynchronous center, common to all methods that have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "communicator/center/async_settings.h"
#include "communicator/center/center_shards.h"
#include "eave/communicator.h"

namespace eave {

// The compressed form of a worker's message to a center in shards.
//
// Without a codec the object is empty. The host encodes and decodes. If messages are in another device's memory, both
// calls block.
class EncodedMessage {
 public:
  explicit EncodedMessage(std::shared_ptr<const Codec> codec) : codec_(std::move(codec)) {}

  explicit operator bool() const { return codec_ != nullptr; }
  void begin(const CenterLayout& layout, Device& device, std::size_t size);
  // The encoded bytes of one shard, which a request carries in place of floats.
  Slice shard(std::size_t shard) { return shards_[shard]; }
  void encode(Slice message);  // the whole message
  void decode(Slice message);

 private:
  template <class Visit>
  void visit_shards(Slice message, Visit visit);

  std::shared_ptr<const Codec> codec_;
  const CenterLayout* layout_ = nullptr;
  Device* device_ = nullptr;
  Buffer encoded_, staged_;  // staged_: a copy in host memory, if messages are in another device's memory
  std::vector<Slice> shards_;
};

// Base of the methods with an asynchronous center. Every rank is a worker and keeps shards of the center. With
// --center-ranks, the last ranks keep all shards and do not train.
//
// A worker exchanges every tau steps, at its own pace. It sends message() as one request per shard, and each shard's
// reply replaces that part of message(). The owners keep the center in host memory, whatever their device (pinned
// memory if that is a GPU).
//
// --compression bf16 or fp16: messages and replies are rounded, also those between a worker and its own shards. There
// is no error feedback. eave refuses int8 and top-k, because in each direction some method sends values that are no
// differences.
class AsyncCenter : public Communicator {
 public:
  void begin(const ReplicaView& replica) override;
  void before_gradients(const Step& step) override;
  ConstSlice consensus() override;
  void forget_consensus() override { is_snapshot_of_now_ = false; }
  std::vector<Slice> state() override;
  std::vector<Slice> common_state() override { return AsyncCenter::state(); }  // the center's vectors
  bool follows_recorded_order() const override { return settings_.log != nullptr; }
  std::int64_t next_meeting(std::int64_t steps) const override;
  void finish() override;
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }
  ExchangeReport report() const override { return report_; }

 protected:
  // The vectors that the method keeps at the center.
  struct Vectors {
    // Number of vectors, the center included.
    std::size_t count = 1;
    // The first `equal` vectors begin as copies of the parameters, the others as zeros.
    std::size_t equal = 1;
    // Index of the vector that is the consensus.
    std::size_t shown = 0;
  };
  AsyncCenter(Transport& transport, AsyncSettings settings, CenterRule rule, Vectors vectors);
  ~AsyncCenter() override;

  // The method's part of begin and of before_gradients. before_gradients_of_worker runs only on workers.
  virtual void begin_worker() {}
  virtual void before_gradients_of_worker(const Step& step) = 0;

  bool exchanges_in(const Step& step) const { return (step.index + settings_.after_steps) % settings_.tau == 0; }
  Slice message() { return message_.slice(); }
  // Starts an exchange. Nobody may touch message() until settle().
  void send();
  // Waits until message() holds the reply. Does nothing if no exchange is in flight.
  void settle();

  const ReplicaView& replica() const { return replica_; }
  const AsyncSettings& settings() const { return settings_; }
  int workers() const { return settings_.workers; }
  // Vector i of the center, whole. Call it between begin and the first step.
  ConstSlice vector_of_center(std::size_t i) const { return snapshots_[i].slice(); }

 private:
  bool is_worker() const { return transport_.rank() < settings_.workers; }
  ExchangeOrder order() const;
  void open_center();
  std::size_t shard_size(std::size_t size, std::size_t owners) const;
  std::vector<std::size_t> order_of_shards() const;  // in the order in which this worker asks for them
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
  std::vector<Buffer> snapshots_;         // the center's vectors, whole, as of the last consensus()
  std::unique_ptr<CenterShards> shards_;  // nullptr until the first step
  Buffer shown_;                          // if the device is not the CPU: a copy of the consensus on the device
  Buffer message_;                        // on the device
  std::vector<bool> even_;                // in a replay: even_exchanges() of its log
  EncodedMessage encoded_;
  std::vector<ServiceRequest> requests_;
  Pending exchange_;
  bool in_flight_ = false;
  bool is_snapshot_of_now_ = false;
  std::int64_t exchanges_ = 0;  // exchanges of this worker
  double seconds_waiting_ = 0;
  ExchangeReport report_;
};

}  // namespace eave
