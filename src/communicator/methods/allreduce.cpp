// Synchronous gradient averaging:  g <- sum_i w_i g_i. Rank i has n_i samples in this step, and g_i is the gradient of
// their mean loss; a window of text that lacks labels counts by those that it has (Model::train). Options choose the
// weights:
//
//   --reduction    --loss-reduction mean    sum         with equal n_i, lr acts as if multiplied by (mean, sum)
//   weighted       w_i = n_i / sum_j n_j    n_i w_i     1       n_i
//   mean           w_i = 1/p                n_i/p       1       n_i
//   sum            w_i = 1                  n_i         p       p n_i
//
// A rank without samples has g_i = 0 and takes part in every case. `mean` counts this rank in p, so the step becomes
// smaller. The rest of this page describes the weighted mean.
//
// Every rank takes the same step from the same parameters, so all replicas stay equal. p ranks at batch n compute the
// same as one rank at batch pn. This holds when the last batch is uneven, and when a rank has no samples left and takes
// part with weight 0. Backward applies the weights to the loss, so they cost no pass over the gradients.
//
// Rounds per step: one all-reduce per bucket, together M bytes of gradients, 2 M (p-1)/p on the wire per rank. Buckets
// are cut from the end of the arena at fixed places. These places do not depend on the parts that backward reports, so
// all ranks start the same sums. A bucket starts as soon as backward has passed it. before_update starts the buckets
// that are left (at least that of the first layer) and waits for all.
//
// --compression: each bucket is a sum of w_i g_i with error feedback (Compression in transport.h). Buckets then begin
// with a block of the codec, so the result does not depend on where buckets are cut.
//
// --reproducible: each rank sums the gradients of its micro-batches in pairs, each with its own weight. Then pairs of
// ranks sum the buckets (reproducible.h). The batch-norm statistics are summed in the same way: each micro-batch moves
// them from their values before the step. The mean of the results, weighted by samples, is the next step's value on all
// ranks.
//
// --batch-norm sync: a batch norm computes its moments over the batches of all ranks. The statistics that it moves and,
// in backward, its two sums are over all ranks too. Ranks wait for each of these sums (sync_batch_norm.h). Every rank
// starts them between the same buckets, because backward hands over gradients layer by layer, also on a rank without
// samples.
#include "communicator/methods/allreduce.h"

#include <algorithm>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "communicator/support/compression.h"
#include "communicator/support/reproducible.h"
#include "communicator/support/sync_batch_norm.h"
#include "eave/check.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

constexpr std::int64_t kSmallestBucket = 4096;

// The default without --bucket-bytes. A small model has small buckets, so that its exchange begins early in backward.
// Larger buckets keep the two message times of each bucket small beside the time of its bytes.
std::size_t usual_bucket(std::size_t gradients) {
  constexpr std::size_t kBuckets = 8, kLeast = std::size_t{1} << 15, kMost = std::size_t{1} << 18;
  return std::clamp((gradients + kBuckets - 1) / kBuckets, kLeast, kMost);
}

// The two lines of the card. The first states the formula in force. The second states how its step differs from that of
// the mean over samples if all ranks have equally many.
std::string describe_gradient_averaging(const GradientAveraging& settings, int ranks) {
  const std::string p = std::to_string(ranks);
  const std::string of_rank = settings.loss_is_summed ? "n_i g_i" : "g_i";
  std::string text, factor;
  switch (settings.reduction) {
    case GradientReduction::kWeighted:
      text = "g <- sum_i (n_i / n) " + of_rank + ", n = sum_i n_i";
      factor = settings.loss_is_summed ? "n_i" : "";
      break;
    case GradientReduction::kMean:
      text = "g <- (1/p) sum_i " + of_rank + ", also where n_i = 0 (then g_i = 0)";
      factor = settings.loss_is_summed ? "n_i" : "";
      break;
    case GradientReduction::kSum:
      text = "g <- sum_i " + of_rank;
      factor = settings.loss_is_summed ? "p n_i = " + p + " n_i" : "p = " + p;
      break;
  }
  text +=
      "; n_i samples of rank i in a step, g_i the gradient of their mean loss; p = " + count_text(ranks, "rank") + "\n";
  if (factor.empty()) {
    return text + (settings.reduction == GradientReduction::kMean
                       ? "with equal n_i this is the mean over all samples of a step (--reduction weighted)"
                   : ranks == 1
                       ? "the mean over all samples of a step"
                       : "the mean over all samples of a step; summing the g_i instead (--reduction sum) would be as "
                         "if lr were p = " +
                             p + " times as large");
  }
  return text + "lr acts as if it were " + factor +
         " times as large as with the mean over all samples (--reduction weighted --loss-reduction mean)";
}

class AllReduce final : public Communicator {
 public:
  AllReduce(Transport& transport, const GradientAveraging& settings)
      : transport_(transport),
        settings_(settings),
        bucket_(static_cast<std::size_t>(settings.bucket_bytes) / sizeof(float)),
        feedback_(settings.codec),
        pairs_(is_reproducible() ? pairs_of(transport.rank(), transport.size()) : std::vector<Pair>()),
        moments_(transport, seconds_waiting_) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    if (bucket_ == 0) bucket_ = usual_bucket(replica.gradients.size());
    in_flight_.reserve((replica.gradients.size() / bucket_ + 2) * std::max<std::size_t>(pairs_.size(), 1));
    feedback_.begin(replica.gradients.size());
    restart();
  }

  float gradient_weight(const Step& step) const override {
    EAVE_CHECK(step.samples >= 0 && step.samples <= step.samples_everywhere && step.samples_everywhere > 0,
               "a step has samples");
    return static_cast<float>(reduction_weight(step) *
                              (settings_.loss_is_summed ? static_cast<double>(step.samples) : 1.0));
  }

  int micro_batches() const override { return settings_.micro_batches; }
  MomentExchange* moments() override { return settings_.syncs_batch_norm ? &moments_ : nullptr; }
  bool wants_gradients() const override { return true; }

  void gradient_ready(Slice part) override {
    EAVE_CHECK(part.data() + part.size() == replica_.gradients.data() + ready_ && part.size() <= ready_,
               "gradients become ready from the end of the arena to its beginning");
    ready_ -= part.size();
    start_buckets();
  }

  std::optional<Pull> before_update(const Step&) override {
    ready_ = 0;
    start_buckets();
    if (is_reproducible() && !replica_.statistics.empty()) start_sum(replica_.statistics);
    for (Pending& bucket : in_flight_) seconds_waiting_ += bucket.wait();
    restart();
    return {};
  }

  bool updates(const Step&) const override { return true; }
  bool reads_parameters_after(const Step&) const override { return false; }
  ConstSlice consensus() override { return replica_.parameters; }
  bool consensus_is_first_worker() const override { return has_same_statistics(); }

  // A method that begins with gradient averaging (local-sgd) calls this and resets the rest itself.
  void reset_to_center(const ReplicaView&) override { feedback_.forget(); }

  std::vector<Slice> state() override { return feedback_.state(); }

  std::vector<Slice> own_state() override { return state(); }

  std::vector<Slice> replicated() override {
    std::vector<Slice> all = {replica_.parameters};
    all.insert(all.end(), replica_.optimizer.begin(), replica_.optimizer.end());
    if (has_same_statistics() && !replica_.statistics.empty()) all.push_back(replica_.statistics);
    return all;
  }

  void finish() override {
    for (Pending& bucket : in_flight_) seconds_waiting_ += bucket.wait();
    in_flight_.clear();
  }

  std::string equation() const override {
    return describe_gradient_averaging(settings_, transport_.size()) + "; buckets of " +
           (settings_.bucket_bytes > 0 ? count_text(settings_.bucket_bytes, "byte")
                                       : "an eighth of the gradients, 128 KiB to 1 MiB") +
           feedback_.describe("g_i with its weight") +
           (is_reproducible() ? describe_micro_batches(settings_.micro_batches, transport_.size()) : "");
  }

  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  bool is_reproducible() const { return settings_.micro_batches > 0; }
  bool has_same_statistics() const { return is_reproducible() || settings_.syncs_batch_norm; }

  double reduction_weight(const Step& step) const {
    switch (settings_.reduction) {
      case GradientReduction::kWeighted:
        return static_cast<double>(step.samples) / static_cast<double>(step.samples_everywhere);
      case GradientReduction::kMean:
        return 1.0 / transport_.size();
      case GradientReduction::kSum:
        return 1;
    }
    return 0;
  }

  void restart() {
    in_flight_.clear();
    ready_ = started_ = replica_.gradients.size();
  }

  void start_buckets() {
    while (started_ > 0) {
      const std::size_t begin = begin_of_bucket(started_), size = started_ - begin;
      if (ready_ > begin) return;
      started_ = begin;
      start_sum(replica_.gradients.subspan(begin, size), feedback_.compression(begin, size));
    }
  }

  // A rank carries out its operations in order, so the rounds of pairs run one after another.
  void start_sum(Slice values, const Compression& compression = {}) {
    if (pairs_.empty()) in_flight_.push_back(transport_.all_reduce_sum(values, {}, compression));
    for (const Pair& pair : pairs_) in_flight_.push_back(transport_.all_reduce_sum(values, pair));
  }

  std::size_t begin_of_bucket(std::size_t end) const {
    const std::size_t begin = end - std::min(bucket_, end);
    return feedback_ ? begin / Codec::kBlock * Codec::kBlock : begin;
  }

  Transport& transport_;
  GradientAveraging settings_;
  std::size_t bucket_;  // floats; 0 until begin() if the user gave no size
  ErrorFeedback feedback_;
  std::vector<Pair> pairs_;  // rounds of pairwise sums; empty: one sum over all ranks
  ReplicaView replica_;
  std::size_t ready_ = 0;    // gradients from here on are complete
  std::size_t started_ = 0;  // gradients from here on are being exchanged
  std::vector<Pending> in_flight_;
  double seconds_waiting_ = 0;
  BatchMoments moments_;
};

GradientReduction reduction_of(const std::string& word) {
  if (word == "mean") return GradientReduction::kMean;
  return word == "sum" ? GradientReduction::kSum : GradientReduction::kWeighted;
}

// Warns if the user gives both options, which scales the step twice.
void warn_of_scaling(const CommunicatorContext& context, GradientReduction reduction) {
  const OptionValues& values = context.values;
  const int ranks = context.transport.size();
  if (reduction != GradientReduction::kSum || ranks == 1 || context.transport.rank() != 0) return;
  if (!values.entries().contains("lr-scaling") || values.text("lr-scaling") == "none") return;
  const bool is_linear = values.text("lr-scaling") == "linear";
  const std::string p = std::to_string(ranks);
  context.warnings.push_back("--reduction sum and --lr-scaling " + values.text("lr-scaling") +
                             " both grow with the ranks: the step is as if --lr were " + p + " x " +
                             (is_linear ? p + " = " + std::to_string(ranks * ranks) : "root of " + p) +
                             " times as large; --reduction weighted leaves --lr-scaling alone");
}

std::unique_ptr<Communicator> make_allreduce(const CommunicatorContext& context) {
  const GradientReduction reduction = reduction_of(context.values.text("reduction"));
  warn_of_scaling(context, reduction);
  return make_gradient_averaging(
      context.transport, {bucket_bytes_in(context.values), reduction, context.values.text("loss-reduction") == "sum",
                          codec_in(context), micro_batches_in(context), syncs_batch_norm(context.values)});
}

std::vector<OptionSpec> options_of_allreduce() {
  std::vector<OptionSpec> options = {bucket_bytes_option(),
                                     {"reduction",
                                      OptionType::kText,
                                      "weighted",
                                      "weighted: mean over all samples of a step; mean: mean of the ranks' gradients; "
                                      "sum: sum of the ranks' gradients",
                                      {"weighted", "mean", "sum"}},
                                     {"loss-reduction",
                                      OptionType::kText,
                                      "mean",
                                      "loss of a rank: the mean or the sum over its samples",
                                      {"mean", "sum"}}};
  options.push_back(batch_norm_option());
  for (const OptionSpec& option : reproducible_options()) options.push_back(option);
  return options;
}

}  // namespace

std::unique_ptr<Communicator> make_gradient_averaging(Transport& transport, const GradientAveraging& settings) {
  return std::make_unique<AllReduce>(transport, settings);
}

OptionSpec bucket_bytes_option() {
  return {"bucket-bytes", OptionType::kBytes, "",
          "size of the buckets in which gradients are exchanged during backward (default: an eighth of all gradients, "
          "from 128KiB to 1MiB)"};
}

std::int64_t bucket_bytes_in(const OptionValues& values) {
  if (!values.has("bucket-bytes")) return 0;
  const std::int64_t bytes = values.bytes("bucket-bytes");
  if (bytes >= kSmallestBucket) return bytes;
  refuse_option(values, "bucket-bytes", "expected at least " + std::to_string(kSmallestBucket) + "; 1MiB is usual");
}

CommunicatorKind describe_communicator_allreduce() {
  return {"allreduce",
          "gradients are averaged over all ranks in every step",
          {.exchanges = ExchangePattern::kGradientSums,
           .averages_gradients = true,
           .compresses = true,
           .exchanges_together = true},
          options_of_allreduce(),
          make_allreduce};
}

}  // namespace eave
