// A device without hardware. If code does not wait for the device where it must, its results are wrong or it crashes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "eave/check.h"
#include "eave/device.h"

namespace eave {

// An allocator that takes memory from malloc. Tests count calls of operator new in the code under test; the allocations
// of their own tools must not be among them.
template <class T>
struct Uncounted {
  using value_type = T;
  Uncounted() = default;
  template <class U>
  Uncounted(const Uncounted<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(std::malloc(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  friend bool operator==(const Uncounted&, const Uncounted&) { return true; }
};

class LazyMark final : public DeviceMark {
 public:
  bool reached() override;
  void wait() override;
  void reach();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_reached_ = false;
};

// Executes commands in its own thread, one after another, each `delay_us` microseconds after it could begin.
class LazyQueue {
 public:
  struct Command {
    float* into = nullptr;
    const float* from = nullptr;  // null: fill with `value`
    std::size_t size = 0;
    float value = 0;
    bool adds = false;       // adds `from` to `into`, instead of copying it
    float* owned = nullptr;  // equals `from` if the queue must free it afterwards
    std::shared_ptr<DeviceMark> awaited{};
    std::shared_ptr<LazyMark> mark{};
  };

  explicit LazyQueue(int delay_us);
  LazyQueue(const LazyQueue&) = delete;
  LazyQueue& operator=(const LazyQueue&) = delete;
  ~LazyQueue();

  void enqueue(Command command);
  std::shared_ptr<LazyMark> mark();
  void wait() { mark()->wait(); }
  bool is_busy();

 private:
  void carry_out_all();

  const int delay_us_;
  bool carries_out_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command, Uncounted<Command>> commands_;
  bool closing_ = false;
  std::thread thread_;
};

// Its memory lies at addresses that fault when the host touches them. Its commands take effect late, in another thread,
// and its copy queues are faster than its own queue. So code that does not wait reads the old values.
class LazyDevice : public Device {
 public:
  LazyDevice();
  LazyDevice(const LazyDevice&) = delete;
  LazyDevice& operator=(const LazyDevice&) = delete;
  ~LazyDevice() override;

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override { return "lazy"; }
  Buffer allocate(std::size_t size) override;
  Buffer allocate_for_host(std::size_t size) override;
  bool holds(ConstSlice values) const override;
  std::int64_t free_bytes() override { return -1; }
  void read(ConstSlice from, Slice host) override;
  void write(Slice into, ConstSlice host) override;
  void wait() override { queue_.wait(); }
  std::shared_ptr<DeviceMark> mark() override { return queue_.mark(); }
  std::unique_ptr<CopyQueue> make_copy_queue() override;
  void copy(Slice into, ConstSlice from) override;
  void fill(Slice values, float value) override;

  // How often pinned memory was allocated or freed while the device or its library was busy. A real device may block
  // in this case.
  std::atomic<int> times_disturbed{0};

  float* reachable(const float* address) const { return memory_ + (address - addresses_); }
  LazyQueue& queue() { return queue_; }

  void scale(Slice, float) override { refuse(); }
  void add_scaled(Slice, float, ConstSlice) override { refuse(); }
  double norm(ConstSlice) override { return refuse(), 0; }
  double distance(ConstSlice, ConstSlice) override { return refuse(), 0; }
  std::shared_ptr<DeviceAnswer> all_finite(ConstSlice) override { return refuse(), nullptr; }
  void copy_rows(const RowsCopy&, Slice, ConstSlice) override { refuse(); }
  void multiply(const MatrixProduct&, ConstSlice, ConstSlice, Slice) override { refuse(); }
  std::shared_ptr<DeviceAnswer> run(const FlatPass&) override { return refuse(), nullptr; }

 protected:
  virtual bool is_busy() { return queue_.is_busy(); }

 private:
  void change_pinned() {
    if (is_busy()) ++times_disturbed;
  }
  static void refuse() { EAVE_CHECK(false, "a lazy device does no algebra"); }

  float* addresses_ = nullptr;  // the addresses that other code sees; touching them faults
  float* memory_ = nullptr;     // the same memory, mapped for the device's own threads
  std::size_t used_ = 0;
  LazyQueue queue_;
};

}  // namespace eave
