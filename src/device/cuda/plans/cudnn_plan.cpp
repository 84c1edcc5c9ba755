#include "device/cuda/plans/cudnn_plan.h"

#include <algorithm>
#include <charconv>

#include "eave/check.h"

namespace eave::cuda {
namespace {

// cuDNN's notes on the engine of a configuration.
struct EngineNotes {
  std::vector<cudnnBackendNumericalNote_t> numerical;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  std::int64_t engine = 0;  // the engine's number

  explicit EngineNotes(const Descriptor& configuration);
  bool has(cudnnBackendNumericalNote_t note) const { return std::ranges::count(numerical, note) > 0; }
  bool has(cudnnBackendBehaviorNote_t note) const { return std::ranges::count(behavior, note) > 0; }
  bool keeps(const PlanRules& rules) const;
};

template <class Note>
std::vector<Note> read_notes(const Descriptor& engine, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, std::int64_t kinds) {
  std::vector<Note> notes(static_cast<std::size_t>(kinds));
  notes.resize(static_cast<std::size_t>(engine.get(name, type, kinds, notes.data())));
  return notes;
}

EngineNotes::EngineNotes(const Descriptor& configuration) {
  const Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = of.raw();
  configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  engine = of.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  numerical = read_notes<cudnnBackendNumericalNote_t>(of, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  behavior = read_notes<cudnnBackendBehaviorNote_t>(of, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
}

bool EngineNotes::keeps(const PlanRules& rules) const {
  // Sums must be float32, whatever type is multiplied.
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) || has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
    return false;
  if (!rules.tensor_cores && has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) return false;
  if (!rules.transforms && (has(CUDNN_NUMERICAL_NOTE_WINOGRAD) || has(CUDNN_NUMERICAL_NOTE_FFT))) return false;
  return !rules.deterministic || !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
}

}  // namespace

PlanTarget::PlanTarget(const std::string& description) {
  properties_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, description).finalise();
}

void PlanTarget::name_in_heuristic(Descriptor& heuristic) const {
  if (properties_) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties_);
}

void PlanTarget::name_in_engine(Descriptor& engine) const {
  if (properties_) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *properties_);
}

void PlanTarget::name_in_plan(Descriptor& plan) const {
  if (properties_) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties_);
  } else {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
  }
}

std::string describe_device(cudnnHandle_t handle) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle).finalise();
  return properties.text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
}

PlanRules rules_of(Precision precision, bool deterministic) {
  PlanRules rules;
  rules.tensor_cores = rules.transforms = precision != Precision::kFp32;
  rules.deterministic = deterministic;
  return rules;
}

CudnnPlan::CudnnPlan(std::shared_ptr<const OperationGraph> graph, std::vector<Descriptor>&& made_from,
                     Descriptor&& plan, const std::string& offer)
    : graph_(std::move(graph)), made_from_(std::move(made_from)), plan_(std::move(plan)) {
  workspace_bytes_ = plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  const EngineNotes notes(made_from_.back());
  tensor_cores_ = notes.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  deterministic_ = !notes.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  compiled_ = notes.has(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  choice_ = offer + ", engine " + std::to_string(notes.engine) + ", " + std::to_string(workspace_bytes_) + " bytes";
}

void CudnnPlan::run(cudnnHandle_t handle, std::span<const NamedAddress> tensors, void* workspace) const {
  std::vector<std::int64_t> names;
  std::vector<void*> addresses;
  for (const NamedAddress& tensor : tensors) {
    EAVE_CHECK(reinterpret_cast<std::uintptr_t>(tensor.address) % 16 == 0, "a tensor is not aligned to 16 bytes");
    names.push_back(tensor.name);
    addresses.push_back(const_cast<void*>(tensor.address));
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace})
      .finalise();
  check_cudnn(cudnnBackendExecute(handle, plan_.raw(), pack.raw()), "cudnnBackendExecute");
}

namespace {

constexpr int kMostRefused = 8;

// Sources of engine configurations. The letter is the first one of CudnnPlan::choice.
enum Source : char { kHeuristic = 'A', kFallback = 'F', kAllEngines = 'E' };

class PlanSearch {
 public:
  PlanSearch(const PlanTarget& target, const ConvolutionOperation& operation, const PlanRules& rules, std::size_t most,
             const AcceptsPlan& accepts, const std::function<bool()>& is_spent)
      : target_(target),
        rules_(rules),
        most_(most),
        accepts_(accepts),
        is_spent_(is_spent),
        graph_(std::make_shared<OperationGraph>(operation, target.handle())) {}

  // `only` is the index of the single offer to look at, or kAll.
  static constexpr std::int64_t kAll = -1;
  void ask(Source source, std::int64_t only = kAll);
  bool is_done() const {
    return found_.size() >= most_ || refused_ >= kMostRefused || (has_found() && is_spent_ && is_spent_());
  }
  bool has_found() const { return !found_.empty(); }
  bool has_refused() const { return refused_ > 0; }
  const std::string& last_answer() const { return last_answer_; }
  std::vector<CudnnPlan> take() { return std::move(found_); }

 private:
  void ask_heuristic(Source source, std::int64_t only);
  void ask_all_engines(std::int64_t only);
  void consider(std::vector<Descriptor>&& made_from, const std::string& offer);

  const PlanTarget& target_;
  PlanRules rules_;
  std::size_t most_;
  const AcceptsPlan& accepts_;
  const std::function<bool()>& is_spent_;
  std::shared_ptr<const OperationGraph> graph_;
  std::vector<CudnnPlan> found_;
  int refused_ = 0;
  std::string last_answer_ = "no engine was offered";
};

std::string offer_text(Source source, std::int64_t place) {
  return std::string(1, source) + " " + std::to_string(place);
}

void PlanSearch::ask(Source source, std::int64_t only) {
  source == kAllEngines ? ask_all_engines(only) : ask_heuristic(source, only);
}

void PlanSearch::ask_heuristic(Source source, std::int64_t only) {
  const cudnnBackendHeurMode_t mode = source == kFallback ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A;
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_->descriptor()).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  target_.name_in_heuristic(heuristic);
  if (!heuristic.try_to_finalise(last_answer_)) return;
  const std::int64_t offered = heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < offered; ++i) {
    configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations.back().raw());
  }
  const std::int64_t given =
      heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, raw.data());
  for (std::int64_t i = 0; i < given && !is_done(); ++i) {
    if (only != kAll && only != i) continue;
    std::vector<Descriptor> made_from;
    made_from.push_back(std::move(configurations[static_cast<std::size_t>(i)]));
    consider(std::move(made_from), offer_text(source, i));
  }
}

// Tries each engine with the default values of its knobs. These plans are slower than those of the heuristics, but the
// list of engines is complete.
void PlanSearch::ask_all_engines(std::int64_t only) {
  const std::int64_t engines = graph_->descriptor().number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  for (std::int64_t i = 0; i < engines && !is_done(); ++i) {
    if (only != kAll && only != i) continue;
    std::vector<Descriptor> made_from;
    Descriptor& engine = made_from.emplace_back(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_->descriptor()).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, i);
    target_.name_in_engine(engine);
    if (!engine.try_to_finalise(last_answer_)) continue;
    Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (!configuration.try_to_finalise(last_answer_)) continue;
    made_from.push_back(std::move(configuration));
    consider(std::move(made_from), offer_text(kAllEngines, i));
  }
}

void PlanSearch::consider(std::vector<Descriptor>&& made_from, const std::string& offer) {
  const Descriptor& configuration = made_from.back();
  if (!EngineNotes(configuration).keeps(rules_)) return;
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  target_.name_in_plan(plan);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (!plan.try_to_finalise(last_answer_)) return;
  CudnnPlan made(graph_, std::move(made_from), std::move(plan), offer);
  if (made.workspace_bytes() > rules_.most_workspace_bytes) {
    last_answer_ = "an engine asked for a workspace of " + std::to_string(made.workspace_bytes() >> 20) + " MiB";
  } else if (accepts_ && !accepts_(made)) {
    ++refused_;
  } else {
    found_.push_back(std::move(made));
  }
}

}  // namespace

std::vector<CudnnPlan> find_plans(const PlanTarget& target, const ConvolutionOperation& operation,
                                  const PlanRules& rules, std::size_t most, const AcceptsPlan& accepts,
                                  const std::function<bool()>& is_spent) {
  PlanSearch search(target, operation, rules, most, accepts, is_spent);
  for (const Source source : {kHeuristic, kFallback, kAllEngines})
    if (!search.has_found()) search.ask(source);
  if (search.has_found() || search.has_refused()) return search.take();
  throw Error(ExitCode::kResource, "cuDNN " + std::to_string(cudnnGetVersion()) + " has no " +
                                       (rules.deterministic ? "deterministic " : "") + "plan " +
                                       (rules.tensor_cores ? "" : "without tensor cores ") + "for the " +
                                       to_string(operation) + " (last answer: " + search.last_answer() +
                                       "); choose another --precision, another model, or a newer cuDNN");
}

std::optional<CudnnPlan> find_plan_again(const PlanTarget& target, const ConvolutionOperation& operation,
                                         const PlanRules& rules, const std::string& choice,
                                         const AcceptsPlan& accepts) {
  std::int64_t place = 0;
  const std::size_t kPlaceAt = 2;
  if (choice.size() <= kPlaceAt || std::string("AFE").find(choice[0]) == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(choice.data() + kPlaceAt, choice.data() + choice.size(), place);
  if (error != std::errc() || place < 0) return std::nullopt;
  const std::function<bool()> never;
  PlanSearch search(target, operation, rules, 1, accepts, never);
  search.ask(static_cast<Source>(choice[0]), place);
  std::vector<CudnnPlan> found = search.take();
  if (found.empty() || found.front().choice() != choice) return std::nullopt;
  return std::move(found.front());
}

}  // namespace eave::cuda
