// The wire between ranks that are threads of one process and read each other's memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/core/wire.h"
#include "transport/sum/compressed_sum.h"
#include "transport/threads/threads_job.h"

namespace eave {

// All-reduce: every rank adds up its own 1/p of all ranks' slices, in rank order, and writes the sum to all of them.
// Requests: the thread that sends a request runs the owner's service on the sender's values.
class ThreadsWire final : public Wire, private ByteExchanger {
 public:
  ThreadsWire(ThreadsJob& job, int rank) : job_(job), rank_(rank), compressed_(*this, rank, job.size()) {}
  // For a part of a job. The part lives as long as one of its ranks has a wire.
  ThreadsWire(std::shared_ptr<ThreadsJob> part, int rank) : ThreadsWire(*part, rank) { part_ = std::move(part); }
  int rank() const override { return rank_; }
  int size() const override { return job_.size(); }
  std::string name() const override { return job_.name(); }

  void all_reduce_sum(Slice values, std::span<const int> ranks = {}) override;
  void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) override;
  void broadcast(Slice values, int root) override;
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override;
  std::unique_ptr<Wire> split(int part) override;
  void serve(Service* service) override;
  void request(std::span<const ServiceRequest> requests) override;
  void withdraw() noexcept override { job_.withdraw(rank_); }
  ControlChannel* control() override { return part_ ? nullptr : job_.control(rank_); }
  void abort(ExitCode) noexcept override { job_.lose(rank_); }

 private:
  void start(std::size_t number, const ByteExchange& exchange) override;
  void finish(std::size_t number) override;
  std::vector<int> members_of(int part);
  void wait_for_all();

  std::shared_ptr<ThreadsJob> part_;
  ThreadsJob& job_;
  const int rank_;
  CompressedSum compressed_;
  std::vector<ByteExchange> exchanges_;      // in flight, by number
  std::vector<const ServiceRequest*> open_;  // not answered yet
};

}  // namespace eave
