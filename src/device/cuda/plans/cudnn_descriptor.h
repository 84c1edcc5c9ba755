// The descriptors of cuDNN's backend interface, with typed attributes and errors as exceptions.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace eave::cuda {

// If `status` is a failure, throws Error(kResource) that names the call (`what`, such as "cudnnCreate"), its place in
// the source and cuDNN's text.
void check_cudnn(cudnnStatus_t status, const char* what,
                 const std::source_location& place = std::source_location::current());

// Owns one descriptor. Move-only. Keep everything that a descriptor refers to until the descriptor is finalised. Keep
// it longer where cuDNN does not say when it may go.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  cudnnBackendDescriptor_t raw() const { return raw_; }

  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  Descriptor& set(cudnnBackendAttributeName_t name, float value);
  Descriptor& set(cudnnBackendAttributeName_t name, bool value);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnHandle_t handle);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t type);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnConvolutionMode_t mode);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnPointwiseMode_t mode);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendHeurMode_t mode);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnNanPropagation_t mode);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::string& text);
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<const Descriptor*>& others);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<void*>& addresses);
  Descriptor& finalise();
  // Returns whether the descriptor could be finalised. If not, `why` gets cuDNN's status and text.
  bool try_to_finalise(std::string& why);

  std::int64_t number(cudnnBackendAttributeName_t name) const;
  std::string text(cudnnBackendAttributeName_t name) const;
  // The number of values that the attribute has.
  std::int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  // Writes at most `most` values to `into`, and returns how many it wrote.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                   void* into) const;

 private:
  Descriptor& set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count,
                      const void* values);

  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace eave::cuda
