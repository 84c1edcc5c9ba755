// Elastic averaging in a tree of two levels, synchronous and without a server (Zhang 2016, "Distributed stochastic
// optimization for deep learning", chapter 6). Ranks form groups, by default one per host. Elastic forces tie each
// worker to its group's center c_g, and each group's center to a global center c.
//
// At steps t = tau, 2 tau, … (counted from 0), from the values before step t, with g the group of worker i:
//   d_i = alpha (x_i - c_g);   x_i <- x_i - step_i - d_i;   c_g <- c_g + sum_(j in g) d_j
// If t is also a multiple of global_tau, then at the same time and from the same values:
//   e_g = global_alpha (c_g - c);   c_g <- c_g - e_g;   c <- c + sum_g e_g
// global_tau is a multiple of tau.
//
// A center with d children and one parent moves towards d + 1 others. Hence the default alpha = 0.9/(d+1). Here d is
// the size of the largest group, and all groups use one alpha. The children of the global center are the G groups'
// centers, and global_alpha = 0.9/(G+1). With one group, its center is the global center, and the method is `easgd`,
// with the same bits.
//
// Every rank holds its group's center, with the same bits in the group. A group's first rank also keeps the global
// center, with the same bits on all first ranks. When the other ranks send d_i, a first rank sends d_i - e_g. So one
// sum brings both pulls to c_g.
//
// Rounds, with M bytes of parameters: each exchange is one all-reduce in each group, 2 M (d-1)/d on the wire per rank.
// At every global_tau-th step the first ranks add one all-reduce among themselves, 2 M (G-1)/G for each of them. If
// groups are hosts, only this second sum goes between hosts. (An all-reduce over all ranks would give the same sum, but
// every rank would take part.) Before an evaluation rank 0 broadcasts the global center, if it has moved.
//
// Both sums are first read at the next exchange of their kind. So they run behind the following steps and are exact.
// But a first rank's next exchange with its group queues behind the one among first ranks.
//
// --compression: both sums go with error feedback (Compression in transport.h), each with its own residual: e_i of rank
// i in its group, f_g of a first rank among first ranks. The broadcast before an evaluation is not compressed.
//
// With another number of ranks (--resume elastic) c stays. Workers that were there keep x_i and e_i; new workers begin
// at c. The ranks form groups anew. If n of a group's workers were there, with group centers c_h(i):
//   c_g = sum_i c_h(i) / n;   c_g = c if all are new
// So a group that stays whole keeps its center, and a lost host changes nothing in the other groups. A rank
// that was the first of its group keeps f_g if it is a first rank again. Otherwise it adds f_g to its e_i. In both
// cases f_g reaches c in the end.
//
// consensus() is the global center. As in easgd, x_i is Nesterov's iterate at the rate of step t, and pulls do not
// enter velocities. An exchange does not change the sum of all x_i, all c_g, c and the residuals. A repeated run gives
// the same bits.
#include <algorithm>
#include <utility>

#include "communicator/elastic/easgd_tree_settings.h"
#include "communicator/support/compression.h"
#include "communicator/support/local_steps.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "eave/device.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

// A hash (FNV-1a) of how the ranks are divided into groups.
std::int64_t fingerprint(const RankGroups& groups) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char each : describe_groups(groups)) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

std::vector<int> first_ranks_of(const RankGroups& groups) {
  std::vector<int> ranks;
  for (const std::vector<int>& group : groups) ranks.push_back(group.front());
  return ranks;
}

class EasgdTree final : public Communicator {
 public:
  EasgdTree(Transport& transport, const TreeSettings& settings, const std::shared_ptr<const Codec>& codec,
            std::string look_ahead)
      : transport_(transport),
        settings_(settings),
        look_ahead_(std::move(look_ahead)),
        group_(group_of(settings.groups, transport.rank())),
        first_ranks_(first_ranks_of(settings.groups)),
        feedback_(codec),
        global_feedback_(codec) {
    is_first_ = group_.front() == transport.rank();
    keeps_global_residual_ = is_first_ && !settings.is_star();
  }

  void begin(const ReplicaView& replica) override {
    device_ = replica.device;
    seconds_waiting_ += share_replica(transport_, replica);
    center_ = replica.device->allocate(replica.parameters.size());
    difference_ = replica.device->allocate(replica.parameters.size());
    device_->copy(center_.slice(), replica.parameters);
    feedback_.begin(replica.parameters.size());
    kept_.set(0, fingerprint(settings_.groups));
    if (settings_.is_star()) return;
    global_ = replica.device->allocate(replica.parameters.size());
    device_->copy(global_.slice(), replica.parameters);
    if (!is_first_) return;
    global_difference_ = replica.device->allocate(replica.parameters.size());
    global_feedback_.begin(replica.parameters.size());
  }

  // The update that applies the pull also adds the last exchange's sum to the center, in the same pass.
  std::optional<Pull> before_update(const Step& step) override {
    if (step.index == 0 || step.index % settings_.tau != 0) return {};
    require_same_groups();
    if (is_center_behind_) seconds_waiting_ += exchange_.wait();
    return Pull{center_.slice(), static_cast<float>(settings_.alpha), difference_.slice(),
                std::exchange(is_center_behind_, false)};
  }

  void after_update(const Step& step) override {
    if (step.index == 0 || step.index % settings_.tau != 0) return;
    const bool meets = !settings_.is_star() && step.index % settings_.global_tau == 0;
    if (meets && is_first_) take_pull_of_global_center();
    exchange_ = transport_.all_reduce_sum(difference_.slice(), group_, feedback_.compression());
    is_center_behind_ = true;
    if (meets && is_first_) {
      global_exchange_ =
          transport_.all_reduce_sum(global_difference_.slice(), first_ranks_, global_feedback_.compression());
      is_global_behind_ = true;
    }
    if (meets) is_global_everywhere_ = false;
    if (!settings_.overlap) settle();
  }

  bool reads_parameters_after(const Step& step) const override { return (step.index + 1) % settings_.tau == 0; }

  ConstSlice consensus() override {
    settle();
    if (settings_.is_star()) return center_.slice();
    if (!is_global_everywhere_) seconds_waiting_ += transport_.broadcast(global_.slice(), 0).wait();
    is_global_everywhere_ = true;
    return global_.slice();
  }

  // The groups' centers begin anew from the global one too.
  void reset_to_center(const ReplicaView& replica) override {
    Communicator::reset_to_center(replica);
    device_->copy(center_.slice(), replica.parameters);
    feedback_.forget();
    global_feedback_.forget();
  }

  // A checkpoint identifies vectors by their position. So with compression a single group has an empty slice in the
  // position of the global center.
  std::vector<Slice> state() override {
    std::vector<Slice> state = {kept_.slice(), center_.slice()};
    if (!settings_.is_star() || feedback_) state.push_back(global_.slice());
    feedback_.append_state(state);
    if (keeps_global_residual_) global_feedback_.append_state(state);
    return state;
  }

  // Allocates the residual of first ranks on every rank, because any rank may have been one. A single group's center is
  // the global one, so no worker owns it.
  std::vector<Slice> own_state() override {
    if (!keeps_global_residual_) global_feedback_.begin(center_.size());
    keeps_global_residual_ = true;
    std::vector<Slice> state;
    if (!settings_.is_star()) state.push_back(center_.slice());
    feedback_.append_state(state);
    global_feedback_.append_state(state);
    return state;
  }

  void join(const Joining& joining) override {
    kept_.set(0, fingerprint(settings_.groups));
    if (!settings_.is_star()) meet_in_mean_of_former_centers(joining);
    if (!feedback_ || (is_first_ && !settings_.is_star())) return;
    if (keeps_global_residual_) feedback_.add(global_feedback_);
    global_feedback_.end();
    keeps_global_residual_ = false;
  }

  void finish() override { consensus(); }
  std::string equation() const override { return describe_tree(settings_) + feedback_.describe("d_i") + look_ahead_; }
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  // Refuses a checkpoint of other groups, for example of a run with one more host: its centers would belong to those
  // groups.
  void require_same_groups() const {
    if (kept_.integer(0) == fingerprint(settings_.groups)) return;
    throw AgreedError(ExitCode::kConfiguration,
                      "the run is resumed with other groups than it was saved with; now they are " +
                          describe_groups(settings_.groups) + "; start as many ranks on each host as before");
  }

  // Sets this group's center to the mean of the centers that its former workers had. They may come from several groups.
  void meet_in_mean_of_former_centers(const Joining& joining) {
    const auto former = std::ranges::count_if(group_, [&](int rank) { return rank < joining.former_workers; });
    if (former == 0) return device_->copy(center_.slice(), global_.slice());
    if (!joining.goes_on) device_->fill(center_.slice(), 0);
    seconds_waiting_ += transport_.all_reduce_sum(center_.slice(), group_).wait();
    device_->scale(center_.slice(), 1 / static_cast<float>(former));
  }

  // Uses the group's center before the step: the sum that this step's exchange adds to it has not started yet.
  void take_pull_of_global_center() {
    settle_global();
    device_->write_difference(global_difference_.slice(), center_.slice(), global_.slice(),
                              static_cast<float>(settings_.global_alpha));
    device_->add_scaled(difference_.slice(), -1, global_difference_.slice());
  }

  void settle() {
    if (is_center_behind_) {
      seconds_waiting_ += exchange_.wait();
      device_->move_center(center_.slice(), difference_.slice());
      is_center_behind_ = false;
    }
    settle_global();
  }

  void settle_global() {
    if (!is_global_behind_) return;
    seconds_waiting_ += global_exchange_.wait();
    device_->move_center(global_.slice(), global_difference_.slice());
    is_global_behind_ = false;
  }

  Transport& transport_;
  TreeSettings settings_;
  std::string look_ahead_;        // a line of the card
  std::vector<int> group_;        // ranks of this rank's group, itself included
  std::vector<int> first_ranks_;  // one of each group
  bool is_first_ = false, keeps_global_residual_ = false;
  ErrorFeedback feedback_, global_feedback_;
  CheckpointedNumbers kept_{1};  // fingerprint of the groups
  Device* device_ = nullptr;
  Buffer center_;      // center of the group
  Buffer difference_;  // as in Pull; during an exchange, the partial sum
  // The global center: always up to date on first ranks, on other ranks as of the last consensus().
  Buffer global_;
  Buffer global_difference_;  // allocated on first ranks only
  Pending exchange_, global_exchange_;
  bool is_center_behind_ = false, is_global_behind_ = false, is_global_everywhere_ = true;
  double seconds_waiting_ = 0;
};

void warn(const CommunicatorContext& context, const TreeSettings& settings) {
  if (context.transport.rank() != 0) return;
  const std::string instability = settings.allow_unstable ? "" : describe_tree_instability(settings);
  if (!instability.empty()) context.warnings.push_back(instability);
  const std::int64_t first = settings.is_star() ? settings.tau : settings.global_tau;
  if (context.steps <= 0 || context.steps > first) return;
  context.warnings.push_back("the global center stays where it began, untrained: it first moves in step " +
                             std::to_string(first) + " (counted from 0) of " + std::to_string(context.steps) +
                             "; give a smaller --" + (settings.is_star() ? "tau" : "global-tau") + " or train longer");
}

std::unique_ptr<Communicator> make_easgd_tree(const CommunicatorContext& context) {
  const TreeSettings settings = resolve_tree(context);
  warn(context, settings);
  RankGroups sums = settings.groups;
  sums.push_back(first_ranks_of(settings.groups));
  return std::make_unique<EasgdTree>(context.transport, settings, codec_in(context, sums),
                                     describe_pulled_iterates(context));
}

}  // namespace

CommunicatorKind describe_communicator_easgd_tree() {
  return {"easgd-tree",
          "elastic averaging with a center for each host and one global center",
          {.exchanges = ExchangePattern::kTree, .has_center = true, .resets_to_center = true, .compresses = true},
          tree_options(),
          make_easgd_tree,
          {{"overlap", "off"}}};
}

}  // namespace eave
