// Synchronous gradient averaging:  g <- sum_i w_i g_i,  w_i = n_i / sum_j n_j,  n_i = samples of rank i in this step.
//
// Every rank then takes the same step from the same parameters, so the replicas never part: p ranks at batch n are one
// rank at batch pn, also when the last batch is uneven and when a rank has no samples left (weight 0, and it takes
// part). The weights are applied in backward, to the loss, and cost no pass.
//
// Rounds per step: one allreduce per bucket, of the gradients' M bytes in all: 2 M (p-1)/p on the wire per rank.
// Buckets are cut from the end of the arena at fixed places, whatever parts backward reports, so all ranks post the
// same ones; each starts as soon as backward has passed it. What backward leaves (at least the first layer's bucket) is
// waited for in before_update.
#include <algorithm>

#include "communicator/begin.h"
#include "eave/check.h"
#include "eave/communicator.h"

namespace eave {
namespace {

constexpr std::int64_t kSmallestBucket = 4096;

class AllReduce final : public Communicator {
 public:
  AllReduce(Transport& transport, std::int64_t bucket_bytes)
      : transport_(transport),
        bucket_bytes_(bucket_bytes),
        bucket_(static_cast<std::size_t>(bucket_bytes) / sizeof(float)) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    in_flight_.reserve(replica.gradients.size() / bucket_ + 1);
    restart();
  }

  float gradient_weight(const Step& step) const override {
    EAVE_CHECK(step.samples >= 0 && step.samples <= step.samples_everywhere && step.samples_everywhere > 0,
               "a step has samples");
    return static_cast<float>(static_cast<double>(step.samples) / static_cast<double>(step.samples_everywhere));
  }

  void gradient_ready(Slice part) override {
    EAVE_CHECK(part.data() + part.size() == replica_.gradients.data() + ready_ && part.size() <= ready_,
               "gradients become ready from the end of the arena to its beginning");
    ready_ -= part.size();
    start_buckets();
  }

  std::optional<Pull> before_update(const Step&) override {
    ready_ = 0;
    start_buckets();
    for (Pending& bucket : in_flight_) seconds_waiting_ += bucket.wait();
    restart();
    return {};
  }

  ConstSlice consensus() override { return replica_.parameters; }

  void finish() override {
    for (Pending& bucket : in_flight_) seconds_waiting_ += bucket.wait();
    in_flight_.clear();
  }

  std::string equation() const override {
    const std::string p = std::to_string(transport_.size());
    return "g <- sum_i (n_i / n) g_i, n = sum_i n_i: the mean over all samples of a step, p = " + p + " ranks\n" +
           "(summing the ranks' mean gradients instead would be as if lr were " + p + " times as large); buckets of " +
           std::to_string(bucket_bytes_) + " bytes";
  }

  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  void restart() {
    in_flight_.clear();
    ready_ = started_ = replica_.gradients.size();
  }

  void start_buckets() {
    while (started_ > 0) {
      const std::size_t size = std::min(bucket_, started_);
      if (ready_ > started_ - size) return;
      started_ -= size;
      in_flight_.push_back(transport_.all_reduce_sum(replica_.gradients.subspan(started_, size)));
    }
  }

  Transport& transport_;
  std::int64_t bucket_bytes_;
  std::size_t bucket_;  // floats
  ReplicaView replica_;
  std::size_t ready_ = 0;    // gradients from here on are complete
  std::size_t started_ = 0;  // gradients from here on are being exchanged
  std::vector<Pending> in_flight_;
  double seconds_waiting_ = 0;
};

std::unique_ptr<Communicator> make_allreduce(const CommunicatorContext& context) {
  const std::int64_t bytes = context.values.bytes("bucket-bytes");
  if (bytes < kSmallestBucket) {
    const OptionValues::Entry& entry = context.values.entry("bucket-bytes");
    throw Error(ExitCode::kUsage, "--bucket-bytes " + entry.text + " (" + entry.source + "): expected at least " +
                                      std::to_string(kSmallestBucket) + "; 1MiB is usual");
  }
  return std::make_unique<AllReduce>(context.transport, bytes);
}

}  // namespace

CommunicatorKind describe_communicator_allreduce() {
  return {
      "allreduce",
      "gradients averaged over all ranks in every step",
      {.averages_gradients = true, .has_center = false},
      {{"bucket-bytes", OptionType::kBytes, "1MiB", "gradients are exchanged in pieces of this size during backward"}},
      make_allreduce};
}

}  // namespace eave
