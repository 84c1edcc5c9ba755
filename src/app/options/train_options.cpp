// The options of `eave train`.
#include "app/main/commands.h"
#include "app/main/devices.h"
#include "app/main/plugins.h"
#include "app/options/network_options.h"
#include "app/options/training_plan.h"
#include "app/run/rank_guard.h"
#include "app/run/schedule_length.h"
#include "base/options/option_values.h"
#include "base/options/spelling.h"
#include "communicator/support/compression.h"
#include "eave/communicator.h"
#include "eave/dataset.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

template <typename Kind>
std::vector<CommandLine::Member> members(const std::vector<Kind>& kinds) {
  std::vector<CommandLine::Member> result;
  for (const Kind& kind : kinds) {
    if constexpr (requires { kind.options; }) {
      result.push_back({kind.name, kind.summary, kind.options});
    } else {
      result.push_back({kind.name, kind.summary, {}});
    }
  }
  return result;
}

void add_training(CommandLine& line) {
  line.add_group("What is trained",
                 {{"model",
                   OptionType::kText,
                   "mlp",
                   comma_list(model_names()) + ", or layers: \"conv2d 32 5x5; relu; max_pool 2; dense 10\"",
                   {},
                   model_names()},
                  {"batch", OptionType::kInteger, "32", "samples per step"},
                  {"batch-means",
                   OptionType::kText,
                   "per-rank",
                   "whether --batch counts each rank or all together",
                   {"per-rank", "total"}},
                  {"epochs", OptionType::kReal, "5", "passes over the training set, counted over all ranks"},
                  {"max-steps", OptionType::kInteger, "", "stop after this many steps even if epochs are left"},
                  {"max-samples", OptionType::kInteger, "", "or when all ranks together have seen so many samples"},
                  {"initial-parameters", OptionType::kPath, "",
                   "model.safetensors of a run, or such a file of PyTorch's, to begin with"},
                  {"seed", OptionType::kInteger, "1", "of parameters, order of samples, augmentation and dropout"}});
}

void add_data(CommandLine& line) {
  line.add_family("Data", {"data", OptionType::kText, "fashion-mnist", "dataset"}, members(dataset_kinds()));
  line.add_group(
      "Order and augmentation of samples",
      {{"validation-share", OptionType::kReal, "",
        "of the training set, such as 0.1: held out, the same for all seeds, and evaluated beside the test set"},
       {"sampling",
        OptionType::kText,
        "shard",
        "shard: one permutation cut between ranks; stratified: each part has every class's share; whole: each "
        "rank walks the whole set",
        {"shard", "stratified", "whole"}},
       {"crop", OptionType::kInteger, "0",
        "height and width cut out, at random in training; 0 = what the model is made for"},
       {"pad", OptionType::kInteger, "0", "zeros added on each side before the crop"},
       {"flip", OptionType::kFlag, "off", "flip training images left-right, half of the time"}});
}

// Disables a family's selector and the options of all its members.
template <typename Kind>
void disable(CommandLine::Member& member, const std::string& selector, const std::vector<Kind>& kinds) {
  member.disables.push_back(selector);
  for (const Kind& kind : kinds) {
    for (const OptionSpec& option : kind.options) member.disables.push_back(option.name);
  }
}

// If a method updates the parameters itself, an optimizer has no effect, except for its weight decay.
std::vector<CommandLine::Member> communicators() {
  std::vector<CommandLine::Member> result = members(communicator_kinds());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const CommunicatorTraits& traits = communicator_kinds()[i].traits;
    if (!traits.uses_optimizer) disable(result[i], "optimizer", optimizer_kinds());
    std::erase(result[i].disables, "weight-decay");
    if (!traits.compresses) disable(result[i], "compression", codec_kinds());
  }
  return result;
}

std::vector<OptionSpec> fault_options() {
  return {
      {"replica-hash-every", OptionType::kInteger, "100",
       "compare what is to be the same bits on all ranks after so many steps, where they exchange together; 0: never"},
      {"on-replica-fault",
       OptionType::kText,
       "stop",
       "a rank that differs there ends the run, or gets the bits of the majority (repair)",
       {"stop", "repair"}},
      {"on-nonfinite",
       OptionType::kText,
       "skip",
       "a step whose loss or gradient is not finite is left out and counted (skip), ends the run (abort), or makes all "
       "ranks go back to the newest checkpoint (rollback), and end the run when they have gone back to that before",
       {"skip", "abort", "rollback"}},
      {"nonfinite-limit", OptionType::kInteger, "10",
       "skip: so many steps of a rank in a row that are not finite end the run, for training has diverged"}};
}

void add_ranks(CommandLine& line) {
  add_transport(line);
  std::vector<OptionSpec> options = link_options();
  options.push_back({"shape-compute", OptionType::kSeconds, "",
                     "a step's gradients take at least so long (40ms), by sleeping: as those of a larger model, with "
                     "ranks that need no core each"});
  options.push_back({"slow-rank", OptionType::kText, "", "2:4x makes rank 2 compute four times as long"});
  options.push_back({"inject-fault", OptionType::kText, "",
                     "1:20:nan-gradient puts such a fault into rank 1's step 20; nan-loss, inf-gradient, flip-bit; "
                     "1:20:flip-bit:7:30 says which element, and which bit of it"});
  line.add_group("Slow networks, slow ranks and faults, for experiments", options);
  line.add_group("When a rank does not answer", guard_options());
}

void add_output(CommandLine& line) {
  line.add_group(
      "Evaluation and results",
      {{"run-dir", OptionType::kPath, "", "directory for config.json, metrics.jsonl, summary.json, model.safetensors"},
       {"overwrite", OptionType::kFlag, "off", "replace the run that is in --run-dir"},
       {"resume",
        OptionType::kText,
        "off",
        "go on from the newest whole checkpoint in --run-dir; auto: where there is one, else begin, and where the run "
        "has ended do nothing; elastic: as auto, also with another number of ranks, or with images that came or went",
        {"off", "on", "auto", "elastic"}},
       {"checkpoint", OptionType::kFlag, "on", "save checkpoints in --run-dir; off: the run cannot be resumed"},
       {"checkpoint-dir", OptionType::kPath, "",
        "directory for the checkpoints of this run only, for example on a larger disk; a resumed run finds it in "
        "config.json (default: 'checkpoint' in --run-dir)"},
       {"checkpoint-every", OptionType::kText, "10m",
        "beside those after each evaluation, one every so many steps (500) or so long (90s, 10min, 1h)"},
       {"keep", OptionType::kInteger, "3", "checkpoints that stay, the newest so many"},
       {"keep-every", OptionType::kInteger, "", "and those whose step is a multiple of this, for ever"},
       {"require-checkpoint", OptionType::kFlag, "off",
        "a checkpoint that cannot be written ends the run; off: it goes on with a warning"},
       {"evaluate-every", OptionType::kReal, "1", "epochs between evaluations; 0 = only at the end"},
       {"stop-at-accuracy", OptionType::kReal, "",
        "the run ends with the first evaluation that has this test accuracy, such as 0.9"},
       {"stop-after-time", OptionType::kSeconds, "",
        "the run ends after so long, evaluations left out, such as 60s; looked at 20 times an epoch"},
       {"stop-after-bytes", OptionType::kBytes, "",
        "the run ends when a rank has sent so much, such as 10GB; looked at 20 times an epoch"},
       {"evaluate-workers", OptionType::kFlag, "on",
        "evaluations also score the workers' mean, each worker on the whole test set; off: at the run's end only"},
       {"evaluation-batch", OptionType::kInteger, "128", "samples per forward pass of an evaluation"},
       {"batch-norm-statistics",
        OptionType::kText,
        "average",
        "of the model that is evaluated and saved: rank 0's (local), merged from all workers' (average), or measured "
        "anew on training batches (recompute)",
        {"local", "average", "recompute"}},
       {"recompute-batches", OptionType::kInteger, "100",
        "recompute: training batches that are measured, of all ranks together; at most one pass"},
       {"log-every", OptionType::kInteger, "1", "steps per line of metrics.jsonl"},
       {"trace", OptionType::kFlag, "off",
        "trace.json in --run-dir: what each rank did and when, for ui.perfetto.dev or chrome://tracing"},
       {"tensorboard", OptionType::kFlag, "off", "write event files for TensorBoard into --run-dir, too"},
       {"progress", OptionType::kText, "auto", "what is shown meanwhile", {"auto", "bar", "lines", "off"}},
       {"config", OptionType::kPath, "", "file with lines such as 'tau = 10'"},
       {"print-config", OptionType::kFlag, "off", "print every value and where it came from, and stop"}});
}

}  // namespace

CommandLine train_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave train [options]\n\nTrains one model replica per rank, kept in agreement by a "
      "communicator.");
  add_training(line);
  add_data(line);
  line.add_family("Averaging between ranks",
                  {"communicator", OptionType::kText, "allreduce", "what is averaged, and when"}, communicators());
  line.add_group("Methods of your own", {plugin_option()});
  line.add_family("Compression of what they exchange", compression_option(), members(codec_kinds()));
  line.add_family("Optimizer", {"optimizer", OptionType::kText, "sgd", "update rule of each replica"},
                  members(optimizer_kinds()));
  std::vector<OptionSpec> rate = Schedule::options();
  rate.push_back(
      {"on-drop",
       OptionType::kText,
       "none",
       "step: where the rate drops, workers may begin anew from the center, at rest; with " + methods_that_reset(),
       {"none", "reset-to-center"}});
  rate.push_back(extend_schedule_option());
  line.add_group("Learning rate, a function of samples seen", rate);
  line.add_group("Faults", fault_options());
  add_ranks(line);
  add_output(line);
  line.add_group("Device", device_options());
  return line;
}

}  // namespace eave
