// A Transport with a communication thread, which carries out the operations one after another.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "eave/transport.h"
#include "transport/core/call_record.h"
#include "transport/core/direct_wire.h"
#include "transport/core/operation.h"
#include "transport/core/staged_wire.h"
#include "transport/core/transport_base.h"
#include "transport/core/wire.h"

namespace eave {

// Owns the wire and the thread. If an operation fails, all later operations fail with the same error, because the ranks
// are no longer in step. The destructor carries out the queued operations, then ends the thread.
class BackgroundTransport final : public Transport {
 public:
  // `job`: for a part of a job, the record of the job's calls, which outlives this.
  explicit BackgroundTransport(std::unique_ptr<Wire> wire, CallRecord* job = nullptr);
  BackgroundTransport(const BackgroundTransport&) = delete;
  BackgroundTransport& operator=(const BackgroundTransport&) = delete;
  ~BackgroundTransport() override;

  int rank() const override { return wire_->rank(); }
  int size() const override { return wire_->size(); }
  std::string name() const override { return wire_->name(); }
  void attach(Device& device) override;
  void detach() noexcept override;

  Pending all_reduce_sum(Slice values, std::span<const int> ranks = {}, const Compression& compression = {}) override;
  Pending broadcast(Slice values, int root) override;
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override;
  Slice lend(std::size_t size) override;
  std::size_t bytes_of_others() const override { return wire_->bytes_of_others(); }
  std::unique_ptr<Transport> split(int part) override;
  void serve(Service* service) override;
  Pending request(std::span<const ServiceRequest> requests) override;
  std::size_t request_length() const override { return wire_->request_length().value_or(Transport::request_length()); }
  void withdraw() noexcept override;
  ControlChannel* control() override { return size() == 1 ? nullptr : wire_->control(); }
  const CallRecord* calls() const override { return size() == 1 ? nullptr : wire_->calls() ? wire_->calls() : calls_; }
  std::shared_ptr<const CallRecord> device_calls() const override { return wire_->device_calls(); }
  void abort(ExitCode code) noexcept override { wire_->abort(code); }

 private:
  Pending enqueue(Operation::Request request);
  void locked_notify() noexcept;
  bool is_on_device(const Operation::Request& request) const;
  void prepare_staging(const Operation::Request& request);
  class QueuedSums;

  void carry_out_all() noexcept;
  // Blocks until there is an operation, and answers requests meanwhile. Returns false if no operation will follow.
  bool begin_next(std::exception_ptr& failure);
  void end_first(const std::exception_ptr& failure);
  bool may_follow(const Operation::Request& request) const;
  void poll_requests(std::unique_lock<std::mutex>& lock);
  void carry_out(Operation& operation);
  void record(const Operation::Request& request) noexcept;
  void sum(const Operation::Request& request);
  void broadcast(const Operation::Request& request);
  void await(DeviceMark& mark);

  std::unique_ptr<Wire> wire_;
  Device* device_ = nullptr;
  // Set while a rank has a device with its own memory. The compute thread changes it when nothing is in flight.
  std::unique_ptr<StagedWire> staged_;
  std::unique_ptr<DirectWire> direct_;  // set if messages reach the devices of all ranks
  SingleRankService alone_;             // used by a single rank
  std::unique_ptr<CallRecord> own_calls_;
  CallRecord* calls_ = nullptr;  // the job's or own_calls_; set if there are several ranks
  bool is_part_ = false;
  OperationPool pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  bool closing_ = false;
  bool rests_ = false;  // the communication thread waits in the wire, not for changed_
  // Used by the communication thread: the operations that have begun and not ended. Only sums begin ahead of others.
  std::vector<Operation*> begun_;
  std::thread thread_;
};

}  // namespace eave
