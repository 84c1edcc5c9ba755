// The options of `eave train`.
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/devices.h"
#include "app/main/plugins.h"
#include "app/options/shared_options.h"
#include "app/options/training_plan.h"
#include "app/resume/huggingface_model.h"
#include "app/run/rank_guard.h"
#include "app/run/run_length.h"
#include "base/options/option_values.h"
#include "base/options/spelling.h"
#include "communicator/support/compression.h"
#include "eave/communicator.h"
#include "eave/dataset.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "nn/layer.h"
#include "nn/specification.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.push_back(kind.name);
  return names;
}

std::vector<std::string> models_and_layers() {
  std::vector<std::string> words = model_names();
  for (const std::string& name : layer_names()) words.push_back(name);
  return words;
}

void add_training(CommandLine& line) {
  line.add_group(
      "Model, batch and length of training",
      {{"model",
        OptionType::kText,
        "mlp",
        comma_list(model_names()) +
            "; a folder with a config.json of Hugging Face's GPT-2, Llama, Mistral or Qwen2; or a list of layers: "
            "\"conv2d 32 5x5; relu; max_pool 2; dense 10\". Layers: " +
            comma_list(layer_names()),
        {},
        models_and_layers()},
       {"batch", OptionType::kInteger, "32", "samples per step: of each rank, or in total with --batch-means total"},
       choice("batch-means", {"per-rank", "total"}, "per-rank",
              "whether --batch is the batch of each rank or of all ranks together"),
       {"epochs", OptionType::kReal, "5", "passes over the training set, of all ranks together"},
       {"max-steps", OptionType::kInteger, "", "stop after this many steps, even if epochs are left"},
       {"max-samples", OptionType::kInteger, "", "stop when all ranks together have seen this many samples"},
       {"max-tokens", OptionType::kReal, "",
        "stop when all ranks together have seen this many tokens of text, such as 1e8; a sample has --context tokens"},
       {"label-smoothing", OptionType::kReal, "",
        "share of each label, such as 0.1, to spread evenly over all classes in training; evaluations do not"},
       {"initial-parameters", OptionType::kPath, "",
        "file of parameters to start from: model.safetensors of a run, a .safetensors file from PyTorch, or weights "
        "with Hugging Face's names for GPT-2, Llama, Mistral or Qwen2, or nanoGPT's; a folder stands for the "
        "model.safetensors in it"},
       {"seed", OptionType::kInteger, "1", "seed of initial parameters, order of samples, augmentation and dropout"}});
  line.expand("model", model_text_of_option);
}

// Only images are cropped, padded and flipped, and only text has tokens.
std::vector<CommandLine::Member> datasets() {
  std::vector<CommandLine::Member> result = members_from(dataset_kinds());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].disables = {"max-tokens"};
    if (dataset_kinds()[i].holds_text) result[i].disables = {"crop", "pad", "flip"};
  }
  return result;
}

// Windows of text are as long as the model's table of positions; "" if it has none.
std::string context_of_model(const OptionValues& values) {
  if (!find_kind(dataset_kinds(), values.text("data")).holds_text) return "";
  const int context = model_context(values.text("model"));
  return context == 0 ? "" : std::to_string(context);
}

// A window of text has an answer for each token, so a batch for images would take too much memory.
std::string evaluation_batch_for_text(const OptionValues& values) {
  return find_kind(dataset_kinds(), values.text("data")).holds_text ? values.text("batch") : "";
}

// GPT-2 and its successors decay matrices only.
std::string weight_decay_for_text(const OptionValues& values) {
  const bool holds_text = find_kind(dataset_kinds(), values.text("data")).holds_text;
  return holds_text && values.real("weight-decay") > 0 ? "matrices" : "";
}

void add_data(CommandLine& line) {
  line.add_family("Data", {"data", OptionType::kText, "fashion-mnist", "dataset to train on"}, datasets());
  line.derive_default("context", context_of_model);
  line.derive_default("evaluation-batch", evaluation_batch_for_text);
  line.add_group(
      "Order and augmentation of samples",
      {{"validation-share", OptionType::kReal, "",
        "share of the training set, such as 0.1, to hold out and evaluate beside the test set; the same samples for "
        "all seeds"},
       choice("sampling", {"shard", "stratified", "whole"}, "shard",
              "shard: ranks split one permutation of the set; stratified: as shard, and every part has each class in "
              "proportion; whole: each rank goes through the whole set"),
       {"crop", OptionType::kInteger, "0",
        "height and width in pixels of crops, at random places in training; 0: the size that the model is made for"},
       {"pad", OptionType::kInteger, "0", "pixels of zeros to add on each side before the crop"},
       {"flip", OptionType::kFlag, "off", "flip each training image left-right with probability 1/2"}});
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
  std::vector<CommandLine::Member> result = members_from(communicator_kinds());
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
       "steps between checks that values which the method keeps equal on all ranks have the same bits; 0: no checks"},
      choice("on-replica-fault", {"stop", "repair"}, "stop",
             "if ranks differ in the check of --replica-hash-every, end the run (stop), or copy the majority's bits to "
             "the others (repair)"),
      choice("on-nonfinite", {"skip", "abort", "rollback"}, "skip",
             "if a step's loss or gradient is not finite: leave out what is not finite and count the step (skip), end "
             "the run (abort), or take all ranks back to the newest checkpoint (rollback); a second return to the same "
             "checkpoint ends "
             "the run"),
      {"nonfinite-limit", OptionType::kInteger, "10",
       "skip: consecutive non-finite steps of one rank after which the run ends as diverged"}};
}

void add_ranks(CommandLine& line) {
  add_transport(line);
  std::vector<OptionSpec> options = link_options();
  options.push_back({"shape-compute", OptionType::kSeconds, "",
                     "shortest time for a step's gradients, such as 40ms; ranks sleep for the rest. Imitates a larger "
                     "model without a core for each rank"});
  options.push_back(
      {"slow-rank", OptionType::kText, "", "rank and factor: 2:4x makes rank 2 compute four times as long"});
  options.push_back({"inject-fault", OptionType::kText, "",
                     "RANK:STEP:FAULT, such as 1:20:nan-gradient for step 20 of rank 1; faults: nan-loss, "
                     "nan-gradient, inf-gradient, flip-bit. 1:20:flip-bit:7:30 flips bit 30 of element 7"});
  line.add_group("Slow networks, slow ranks and faults, for experiments", options);
  line.add_group("Time limits for ranks that do not answer", guard_options());
}

void add_output(CommandLine& line) {
  line.add_group(
      "Evaluation, checkpoints and results",
      {{"run-dir", OptionType::kPath, "", "directory for config.json, metrics.jsonl, summary.json, model.safetensors"},
       {"overwrite", OptionType::kFlag, "off", "replace the run that --run-dir holds"},
       choice("resume", {"off", "on", "auto", "elastic"}, "off",
              "on: go on from the newest complete checkpoint in --run-dir; auto: start anew if there is none, and do "
              "nothing if the run has ended; elastic: as auto, also if ranks or images were added or removed"),
       {"checkpoint", OptionType::kFlag, "on", "save checkpoints in --run-dir; off: the run cannot be resumed"},
       {"checkpoint-dir", OptionType::kPath, "",
        "directory for the checkpoints of this run only, for example on a larger disk; a resumed run finds it in "
        "config.json (default: 'checkpoint' in --run-dir)"},
       {"checkpoint-every", OptionType::kText, "10m",
        "steps (500) or time (90s, 10min, 1h) between checkpoints; each evaluation also saves one"},
       {"keep", OptionType::kInteger, "3", "number of newest checkpoints to keep; older ones are deleted"},
       {"keep-every", OptionType::kInteger, "", "also keep all checkpoints whose step is a multiple of this"},
       {"require-checkpoint", OptionType::kFlag, "off",
        "end the run if a checkpoint cannot be written; off: go on with a warning"},
       {"evaluate-every", OptionType::kReal, "1", "epochs between evaluations; 0: evaluate only at the end"},
       {"evaluations", OptionType::kInteger, "",
        "number of evaluations to spread over the run, whatever ends it, in place of --evaluate-every (eave compare: "
        "10)"},
       {"stop-at-accuracy", OptionType::kReal, "",
        "end the run at the first evaluation that reaches this test accuracy, such as 0.9"},
       {"stop-at-loss", OptionType::kReal, "",
        "end the run at the first evaluation whose test loss is at most this, such as 1.5"},
       {"stop-after-time", OptionType::kSeconds, "",
        "end the run after this time, such as 60s, without the time of evaluations; checked 20 times an epoch"},
       {"stop-after-bytes", OptionType::kBytes, "",
        "end the run when a rank has sent this much, such as 10GB; checked 20 times an epoch"},
       {"evaluate-workers", OptionType::kFlag, "on",
        "each evaluation also scores every worker on the whole test set; off (as in eave compare): only the evaluation "
        "at the end of the run does"},
       {"evaluation-batch", OptionType::kInteger, "128",
        "samples per forward pass of an evaluation; with text, --batch unless given"},
       choice("batch-norm-statistics", {"local", "average", "recompute"}, "average",
              "statistics of the evaluated and saved model: rank 0's (local), merged from all workers' (average), or "
              "measured anew on training batches (recompute)"),
       {"recompute-batches", OptionType::kInteger, "100",
        "recompute: training batches to measure, of all ranks together; at most one pass over the training set"},
       {"log-every", OptionType::kInteger, "1", "steps per line of metrics.jsonl"},
       {"trace", OptionType::kFlag, "off",
        "write trace.json into --run-dir: what each rank did and when, for ui.perfetto.dev or chrome://tracing"},
       {"tensorboard", OptionType::kFlag, "off", "also write event files for TensorBoard into --run-dir"},
       choice("progress", {"auto", "bar", "lines", "off"}, "auto",
              "progress display of a run; auto: a bar on a terminal, else lines"),
       {"config", OptionType::kPath, "", "file to read options from, with lines such as 'tau = 10'"},
       {"print-config", OptionType::kFlag, "off", "print every option's value and source, and exit"}});
}

}  // namespace

CommandLine train_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave train [options]\n\nTrains one model replica per rank. A communicator keeps the "
      "replicas in agreement.");
  add_training(line);
  add_data(line);
  line.add_family("Averaging between ranks",
                  {"communicator", OptionType::kText, "allreduce", "method of averaging between ranks"},
                  communicators());
  line.add_group("Methods of your own", {plugin_option(), changed_plugin_option()});
  line.add_family("Compression of exchanges", compression_option(), members_from(codec_kinds()));
  line.add_family("Optimizer", {"optimizer", OptionType::kText, "sgd", "update rule of each replica"},
                  members_from(optimizer_kinds()));
  line.derive_default("weight-decay-of", weight_decay_for_text);
  line.add_group(
      "Gradients of a step, and the average of models",
      {{"accumulate", OptionType::kInteger, "1",
        "parts of --batch that a step computes one after another, summing their gradients: less memory, and the same "
        "gradient up to rounding, but batch norm normalises each part by itself"},
       {"clip-norm", OptionType::kReal, "0",
        "largest norm of the gradient over all parameters; a larger gradient is scaled to it; 0: no "
        "clipping. The gradient is the averaged one if the method averages gradients, else each rank's own"},
       {"ema-decay", OptionType::kReal, "0",
        "share that a moving average of the consensus keeps in a step, such as 0.999; it begins as the consensus after "
        "the first step; evaluations score it too, and it is saved as ema.safetensors. It has the consensus' "
        "statistics of batch norm unless --batch-norm-statistics is recompute. 0: none"},
       {"ema-every", OptionType::kInteger, "10",
        "steps between two updates of that average. An update waits for an exchange under way. With a method whose "
        "ranks do not exchange together, it makes all ranks wait for each other; then --ema-every must be given"}});
  std::vector<OptionSpec> rate = Schedule::options();
  rate.push_back(choice("on-drop", {"none", "reset-to-center"}, "none",
                        "step: at each drop of the learning rate, restart workers from the center with new optimizer "
                        "state (reset-to-center); for " +
                            methods_that_reset()));
  rate.push_back(extend_schedule_option());
  line.add_group("Learning rate, as a function of samples seen", rate);
  line.add_group("Faults and values that are not finite", fault_options());
  add_ranks(line);
  add_output(line);
  line.add_group("Device", device_options());
  return line;
}

}  // namespace eave
