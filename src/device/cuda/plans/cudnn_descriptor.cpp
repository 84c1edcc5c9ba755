#include "device/cuda/plans/cudnn_descriptor.h"

#include <array>
#include <utility>

#include "eave/check.h"

namespace eave::cuda {
namespace {

std::string explain(cudnnStatus_t status) {
  std::array<char, 1024> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  std::string text = cudnnGetErrorString(status);
  if (detail[0] != 0) text += std::string(" (") + detail.data() + ")";
  return text;
}

const char* advice(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_NOT_INITIALIZED || status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
    return "; is a driver installed, and are all of cuDNN's libraries beside libcudnn.so.9?";
  if (status == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)
    return "; two versions of cuDNN are mixed: look at LD_LIBRARY_PATH";
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_EXECUTION_FAILED)
    return "; the GPU may have failed, or be out of memory: nvidia-smi tells";
  return "";
}

}  // namespace

void check_cudnn(cudnnStatus_t status, const char* what, const std::source_location& place) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error(ExitCode::kResource, "cuDNN " + std::to_string(cudnnGetVersion()) + " failed in " + what + " at " +
                                       place.file_name() + ":" + std::to_string(place.line()) + ": " + explain(status) +
                                       advice(status));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnnBackendCreateDescriptor(type, &raw_), "cudnnBackendCreateDescriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  return *this;
}

Descriptor::~Descriptor() {
  // A destructor cannot report a failure.
  if (raw_ != nullptr) static_cast<void>(cudnnBackendDestroyDescriptor(raw_));
}

Descriptor& Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count,
                                const void* values) {
  const auto size = static_cast<std::int64_t>(count);
  const cudnnStatus_t status = cudnnBackendSetAttribute(raw_, name, type, size, values);
  if (status != CUDNN_STATUS_SUCCESS)
    check_cudnn(status, ("cudnnBackendSetAttribute of attribute " + std::to_string(name)).c_str());
  return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set_raw(name, CUDNN_TYPE_INT64, 1, &value);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  return set_raw(name, CUDNN_TYPE_INT64, values.size(), values.data());
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  return set_raw(name, CUDNN_TYPE_FLOAT, 1, &value);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set_raw(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnHandle_t handle) {
  return set_raw(name, CUDNN_TYPE_HANDLE, 1, &handle);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
  return set_raw(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnConvolutionMode_t mode) {
  return set_raw(name, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnPointwiseMode_t mode) {
  return set_raw(name, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendHeurMode_t mode) {
  return set_raw(name, CUDNN_TYPE_HEUR_MODE, 1, &mode);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnNanPropagation_t mode) {
  return set_raw(name, CUDNN_TYPE_NAN_PROPOGATION, 1, &mode);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::string& text) {
  return set_raw(name, CUDNN_TYPE_CHAR, text.size(), text.data());
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.raw_);
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<const Descriptor*>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor* other : others) raw.push_back(other->raw());
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.size(), raw.data());
}
Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<void*>& addresses) {
  return set_raw(name, CUDNN_TYPE_VOID_PTR, addresses.size(), addresses.data());
}

Descriptor& Descriptor::finalise() {
  check_cudnn(cudnnBackendFinalize(raw_), "cudnnBackendFinalize");
  return *this;
}

bool Descriptor::try_to_finalise(std::string& why) {
  const cudnnStatus_t status = cudnnBackendFinalize(raw_);
  if (status != CUDNN_STATUS_SUCCESS) why = explain(status);
  return status == CUDNN_STATUS_SUCCESS;
}

std::int64_t Descriptor::count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(raw_, name, type, 0, &count, nullptr), "cudnnBackendGetAttribute");
  return count;
}

std::int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                             void* into) const {
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(raw_, name, type, most, &count, into), "cudnnBackendGetAttribute");
  return count < most ? count : most;
}

std::int64_t Descriptor::number(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::string Descriptor::text(cudnnBackendAttributeName_t name) const {
  std::string text(static_cast<std::size_t>(count(name, CUDNN_TYPE_CHAR)), '\0');
  text.resize(
      static_cast<std::size_t>(get(name, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size()), text.data())));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace eave::cuda
