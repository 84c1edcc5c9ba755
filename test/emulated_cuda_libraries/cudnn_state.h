// Descriptors of the emulated cuDNN.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace eave::emulated_cuda {

struct CudnnError : std::runtime_error {
  CudnnError(cudnnStatus_t status_, const std::string& text) : std::runtime_error(text), status(status_) {}
  cudnnStatus_t status;
};

struct Backend;
using BackendPointer = std::shared_ptr<const Backend>;

struct BackendAttribute {
  cudnnBackendAttributeType_t type{};
  std::vector<std::byte> bytes;
  std::vector<BackendPointer> descriptors;
};

struct Backend {
  cudnnBackendDescriptorType_t type{};
  bool finalised = false;
  std::map<cudnnBackendAttributeName_t, BackendAttribute> attributes;

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }
  const BackendAttribute& at(cudnnBackendAttributeName_t name) const;
  const BackendPointer& part(cudnnBackendAttributeName_t name) const { return at(name).descriptors.at(0); }
  template <class Value>
  std::vector<Value> values(cudnnBackendAttributeName_t name) const {
    const std::vector<std::byte>& bytes = at(name).bytes;
    std::vector<Value> all(bytes.size() / sizeof(Value));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Value));
    return all;
  }
  template <class Value>
  Value value(cudnnBackendAttributeName_t name) const {
    return values<Value>(name).at(0);
  }
};

// Throws CudnnError if the tensors of the operation do not fit together.
void check_operation(const Backend& operation);
// Returns the function to enqueue, which runs the graph. `addresses` maps the tensors' unique ids to memory. Throws
// CudnnError at once if they do not fit the graph. The run first overwrites the workspace. With `drops_nan` relu turns
// NaN into 0, whatever the graph says.
std::function<void()> prepare_run(BackendPointer graph, const std::map<std::int64_t, void*>& addresses, void* workspace,
                                  std::size_t workspace_bytes, bool drops_nan);

}  // namespace eave::emulated_cuda
