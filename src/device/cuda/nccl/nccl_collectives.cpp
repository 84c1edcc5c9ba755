// Sums between GPUs by NCCL, and what CudaDevice says of NCCL.
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_handles.h"
#include "device/cuda/library_handles.h"
#include "device/cuda/nccl/nccl_communicators.h"
#include "device/device_collectives.h"
#include "kernels/cuda/flat.h"

namespace eave::cuda {
namespace {

// A stream with priority over computing, because other ranks wait for the values that this rank sends.
Stream make_urgent_stream() {
  int least = 0, greatest = 0;
  EAVE_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  EAVE_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  return Stream(stream);
}

Event make_timed_event() {
  cudaEvent_t event = nullptr;
  EAVE_CUDA(cudaEventCreate(&event));
  return Event(event);
}

class NcclTicket final : public DeviceTicket {
 public:
  NcclTicket(int device_index, cudaStream_t computing)
      : device_index_(device_index),
        computing_(computing),
        ready_(make_event()),
        start_(make_timed_event()),
        end_(make_timed_event()) {}

  // Operations that are enqueued in `stream` after this wait for everything computed so far.
  void begin(cudaStream_t stream) {
    EAVE_CUDA(cudaEventRecord(ready_.get(), computing_));
    EAVE_CUDA(cudaStreamWaitEvent(stream, ready_.get(), 0));
    EAVE_CUDA(cudaEventRecord(start_.get(), stream));
  }
  void end(cudaStream_t stream) { EAVE_CUDA(cudaEventRecord(end_.get(), stream)); }

  bool begun() override { return is_past(start_); }
  bool reached() override { return is_past(end_); }
  void hold_up_device() override { EAVE_CUDA(cudaStreamWaitEvent(computing_, end_.get(), 0)); }
  double seconds() const override {
    float milliseconds = 0;
    EAVE_CUDA(cudaEventElapsedTime(&milliseconds, start_.get(), end_.get()));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  bool is_past(const Event& event) const {
    EAVE_CUDA(cudaSetDevice(device_index_));  // the calling thread may not be the device's
    return is_reached(event.get());
  }

  const int device_index_;
  const cudaStream_t computing_;
  const Event ready_, start_, end_;
};

class NcclCollectives final : public DeviceCollectives {
 public:
  NcclCollectives(CudaDevice& device, std::function<void(ConstSlice)> before_each)
      : before_each_(std::move(before_each)),
        device_(device),
        stream_(make_urgent_stream()),
        communicators_(device.index()) {
    device_.add_stream(stream_.get());
  }
  ~NcclCollectives() override { device_.remove_stream(stream_.get()); }

  std::string make_word() override {
    ncclUniqueId id;
    EAVE_NCCL(ncclGetUniqueId(&id));
    return std::string(id.internal, sizeof id.internal);
  }

  int join(const std::string& word, int place, int size) override {
    ncclUniqueId id;
    EAVE_CHECK(word.size() == sizeof id.internal, std::to_string(word.size()) + " bytes are no id of NCCL");
    std::memcpy(id.internal, word.data(), word.size());
    device_.finish_all();  // NCCL allocates device memory
    return communicators_.join(id, place, size);
  }

  std::unique_ptr<DeviceTicket> make_ticket() override {
    return std::make_unique<NcclTicket>(device_.index(), device_.stream());
  }

  void all_reduce_sum(int group, Slice values, DeviceTicket& ticket) override {
    before_each_(values);
    launch(group, ticket, "ncclAllReduce", [&](ncclComm_t communicator) {
      return ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat32, ncclSum, communicator,
                           stream_.get());
    });
  }

  // The first exchange with a rank makes NCCL allocate memory for its connection. All streams must be idle while device
  // memory is allocated.
  void prepare_pair(int group, int other) override {
    if (met_.contains({group, other})) return;
    device_.finish_all();
    if (received_.get() == nullptr) received_ = device_bytes(kPiece * sizeof(float));
    met_.insert({group, other});
  }

  // Each rank sends its values, receives the other's in pieces, and adds them. a + b and b + a have the same bits.
  void sum_with(int group, int other, Slice values, DeviceTicket& ticket) override {
    before_each_(values);
    auto& own = static_cast<NcclTicket&>(ticket);
    own.begin(stream_.get());
    for (std::size_t at = 0; at < values.size(); at += kPiece) {
      const Slice mine = values.subspan(at, std::min(kPiece, values.size() - at));
      const Slice theirs(static_cast<float*>(received_.get()), mine.size());
      const auto call = [&](ncclComm_t communicator) { return exchange(mine, theirs, other, communicator); };
      communicators_.launch(group, "ncclSend and ncclRecv", std::cref(call));  // as in launch
      cuda::add_scaled(stream_.get(), mine, 1, theirs);
    }
    own.end(stream_.get());
  }

  void broadcast(int group, Slice values, int root, DeviceTicket& ticket) override {
    before_each_(values);
    launch(group, ticket, "ncclBroadcast", [&](ncclComm_t communicator) {
      return ncclBroadcast(values.data(), values.data(), values.size(), ncclFloat32, root, communicator, stream_.get());
    });
  }

  bool has_failed() const noexcept override { return communicators_.has_failed(); }
  void check() const override { communicators_.check(); }

 private:
  static constexpr std::size_t kPiece = std::size_t{4} << 20;  // values that a rank receives before it adds them

  ncclResult_t exchange(ConstSlice mine, Slice theirs, int other, ncclComm_t communicator) {
    if (const ncclResult_t status = ncclGroupStart(); status != ncclSuccess) return status;
    const ncclResult_t sent = ncclSend(mine.data(), mine.size(), ncclFloat32, other, communicator, stream_.get());
    const ncclResult_t got = ncclRecv(theirs.data(), theirs.size(), ncclFloat32, other, communicator, stream_.get());
    const ncclResult_t ended = ncclGroupEnd();
    for (const ncclResult_t status : {sent, got})
      if (status != ncclSuccess && status != ncclInProgress) return status;
    return ended;
  }

  template <class Call>
  void launch(int group, DeviceTicket& ticket, const char* what, const Call& call) {
    auto& own = static_cast<NcclTicket&>(ticket);
    own.begin(stream_.get());
    communicators_.launch(group, what, std::cref(call));  // by reference, to avoid a copy and an allocation
    own.end(stream_.get());
  }

  const std::function<void(ConstSlice)> before_each_;
  CudaDevice& device_;
  const Stream stream_;
  std::set<std::pair<int, int>> met_;  // group and place of the ranks with which this one has exchanged
  DeviceBytes received_;               // kPiece values
  NcclCommunicators communicators_;    // declared after stream_, so it is destroyed before it
};

}  // namespace

std::string CudaDevice::collective_library() const {
  int version = 0;
  EAVE_NCCL(ncclGetVersion(&version));
  require_version("NCCL", version, NCCL_VERSION_CODE, kWithoutNccl);
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  EAVE_CUDA(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index_));
  return text.data();
}

std::unique_ptr<DeviceCollectives> CudaDevice::make_collectives() {
  return std::make_unique<NcclCollectives>(*this, [this](ConstSlice values) { change(values); });
}

}  // namespace eave::cuda
