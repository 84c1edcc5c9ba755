// Emulates the graph interface of cuDNN: descriptors that insist on the order of calls, three engines with different
// numerical notes, and plans that run on the emulator's streams.
#include <algorithm>
#include <cstring>

#include "cudnn_state.h"
#include "dropped_nan.h"
#include "emulator.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace eave::emulated_cuda {

const BackendAttribute& Backend::at(cudnnBackendAttributeName_t name) const {
  const auto found = attributes.find(name);
  if (found == attributes.end())
    throw CudnnError(CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(name) + " is not set");
  return found->second;
}

namespace {

thread_local std::string last_error;

// A descriptor points to a shared_ptr: it may be destroyed while other descriptors still use the object.
using Shared = std::shared_ptr<Backend>;
Shared& of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Shared*>(descriptor); }

template <class Call>
cudnnStatus_t answer(const Call& call) {
  try {
    call();
    return CUDNN_STATUS_SUCCESS;
  } catch (const CudnnError& error) {
    last_error = error.what();
    return error.status;
  }
}

void require(bool condition, cudnnStatus_t status, const char* text) {
  if (!condition) throw CudnnError(status, text);
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;
  }
}

void set(Backend& backend, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
         const void* values) {
  require(!backend.finalised, CUDNN_STATUS_BAD_PARAM, "the descriptor is final");
  require(count > 0 && values != nullptr, CUDNN_STATUS_BAD_PARAM, "no values");
  BackendAttribute attribute{type, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Shared& other = of(static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
      require(other->finalised, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that is not final");
      attribute.descriptors.push_back(other);
    }
  } else {
    attribute.bytes.resize(static_cast<std::size_t>(count) * size_of(type));
    std::memcpy(attribute.bytes.data(), values, attribute.bytes.size());
  }
  backend.attributes[name] = std::move(attribute);
}

Shared make_engine(const BackendPointer& graph, std::int64_t index) {
  auto engine = std::make_shared<Backend>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, {}, {graph}};
  set(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
  engine->finalised = true;
  return engine;
}

void finalise(Backend& backend) {
  require(!backend.finalised, CUDNN_STATUS_BAD_PARAM, "the descriptor is final");
  switch (backend.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      for (const BackendPointer& operation : backend.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors)
        check_operation(*operation);
      static_cast<void>(backend.at(CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      static_cast<void>(backend.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
      static_cast<void>(backend.at(CUDNN_ATTR_ENGINEHEUR_MODE));
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      static_cast<void>(backend.at(CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
      static_cast<void>(backend.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
      break;
    default:
      break;
  }
  backend.finalised = true;
}

// The notes of an engine: 0 is not deterministic, 2 uses no tensor cores.
std::vector<std::int64_t> notes_of(std::int64_t engine) {
  if (engine == 0) return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
  if (engine == 1) return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  return {};
}

std::int64_t engine_of(const Backend& plan) {
  const BackendPointer& configuration = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return configuration->part(CUDNN_ATTR_ENGINECFG_ENGINE)->value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

std::int64_t workspace_of(const Backend& plan) { return 1000 * (engine_of(plan) + 1) + 24; }

void get_results(const Backend& heuristic, std::int64_t most, std::int64_t* count, void* values) {
  const bool fallback = heuristic.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
  const std::vector<std::int64_t> engines = fallback ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{0, 1};
  *count = static_cast<std::int64_t>(engines.size());
  for (std::int64_t i = 0; i < std::min(*count, most); ++i) {
    Backend& configuration = *of(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
    const Shared engine =
        make_engine(heuristic.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), engines[static_cast<std::size_t>(i)]);
    configuration.attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, {}, {engine}};
    configuration.finalised = true;
  }
}

template <class Value>
void give(const std::vector<std::int64_t>& all, std::int64_t most, std::int64_t* count, void* values) {
  *count = static_cast<std::int64_t>(all.size());
  for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(i) < most; ++i)
    static_cast<Value*>(values)[i] = static_cast<Value>(all[i]);
}

void get(const Backend& backend, cudnnBackendAttributeName_t name, std::int64_t most, std::int64_t* count,
         void* values) {
  require(backend.finalised, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the descriptor is not final");
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return get_results(backend, most, count, values);
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      *count = 1;
      *of(*static_cast<cudnnBackendDescriptor_t*>(values)) = *backend.part(name);
      return;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return give<std::int64_t>({backend.value<std::int64_t>(name)}, most, count, values);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return give<cudnnBackendNumericalNote_t>(notes_of(backend.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)),
                                               most, count, values);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return give<cudnnBackendBehaviorNote_t>({}, most, count, values);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return give<std::int64_t>({workspace_of(backend)}, most, count, values);
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return give<std::int64_t>({3}, most, count, values);
    default:
      throw CudnnError(CUDNN_STATUS_NOT_SUPPORTED, "the emulator does not know attribute " + std::to_string(name));
  }
}

void execute(cudnnHandle_t handle, const Backend& plan, const Backend& pack) {
  require(plan.finalised && pack.finalised, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is not final");
  const auto names = pack.values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  require(names.size() == pointers.size(), CUDNN_STATUS_BAD_PARAM, "not as many names as pointers");
  std::map<std::int64_t, void*> addresses;
  for (std::size_t i = 0; i < names.size(); ++i) addresses[names[i]] = pointers[i];
  const BackendPointer& configuration = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const BackendPointer& graph =
      configuration->part(CUDNN_ATTR_ENGINECFG_ENGINE)->part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  auto work =
      prepare_run(graph, addresses, pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE),
                  static_cast<std::size_t>(workspace_of(plan)), drops_nan("cudnn" + std::to_string(engine_of(plan))));
  require(enqueue(handle->stream, std::move(work)) == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED,
          "the stream takes no more");
}

}  // namespace
}  // namespace eave::emulated_cuda

using namespace eave::emulated_cuda;

std::size_t cudnnGetVersion() { return static_cast<std::size_t>(number_in("EMULATED_CUDNN_VERSION", CUDNN_VERSION)); }
std::size_t cudnnGetCudartVersion() {
  return static_cast<std::size_t>(number_in("EMULATED_CUDNN_CUDA", CUDART_VERSION));
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "a status of the emulated cuDNN";
}
void cudnnGetLastErrorString(char* message, std::size_t size) {
  if (size > 0) message[last_error.copy(message, size - 1)] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  auto made = std::make_shared<Backend>();
  made->type = type;
  *descriptor = new std::shared_ptr<Backend>(std::move(made));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return answer([&] { finalise(*of(descriptor)); });
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  return answer([&] { set(*of(descriptor), name, type, count, values); });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t most, std::int64_t* count,
                                       void* values) {
  return answer([&] { get(*of(descriptor), name, most, count, values); });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  return answer([&] { execute(handle, *of(plan), *of(pack)); });
}
