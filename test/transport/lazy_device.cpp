#include "test/transport/lazy_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

namespace eave {
namespace {

constexpr std::size_t kAddressBytes = std::size_t{1} << 30;  // only the device's destructor unmaps them
constexpr int kDelay = 300, kCopyDelay = 20;                 // microseconds

float* map(int file, int protection) {
  void* const start = mmap(nullptr, kAddressBytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (start == MAP_FAILED) throw std::runtime_error("no addresses");
  return static_cast<float*>(start);
}

class LazyCopies final : public CopyQueue {
 public:
  explicit LazyCopies(const LazyDevice& device) : device_(device) {}
  void read(ConstSlice from, Slice host) override {
    EAVE_CHECK(from.size() == host.size() && device_.holds(from) && !device_.holds(host), "not a copy to the host");
    queue_.enqueue({.into = host.data(), .from = device_.reachable(from.data()), .size = host.size()});
  }
  void write(Slice into, ConstSlice host) override {
    EAVE_CHECK(into.size() == host.size() && device_.holds(into) && !device_.holds(host), "not a copy to the device");
    queue_.enqueue({.into = device_.reachable(into.data()), .from = host.data(), .size = host.size()});
  }
  void add(Slice into, ConstSlice from) override {
    EAVE_CHECK(into.size() == from.size() && device_.holds(into) && device_.holds(from), "not a sum on the device");
    queue_.enqueue({.into = device_.reachable(into.data()),
                    .from = device_.reachable(from.data()),
                    .size = from.size(),
                    .adds = true});
  }
  void wait() override { queue_.wait(); }

 private:
  const LazyDevice& device_;
  LazyQueue queue_{kCopyDelay};
};

}  // namespace

bool LazyMark::reached() {
  const std::lock_guard lock(mutex_);
  return is_reached_;
}

void LazyMark::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_reached_; });
}

void LazyMark::reach() {
  const std::lock_guard lock(mutex_);
  is_reached_ = true;
  changed_.notify_all();
}

LazyQueue::LazyQueue(int delay_us) : delay_us_(delay_us), thread_([this] { carry_out_all(); }) {}

LazyQueue::~LazyQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void LazyQueue::enqueue(Command command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  changed_.notify_one();
}

std::shared_ptr<LazyMark> LazyQueue::mark() {
  auto mark = std::allocate_shared<LazyMark>(Uncounted<LazyMark>());
  enqueue({.mark = mark});
  return mark;
}

bool LazyQueue::is_busy() {
  const std::lock_guard lock(mutex_);
  return carries_out_ || !commands_.empty();
}

void LazyQueue::carry_out_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !commands_.empty(); });
    if (commands_.empty()) return;
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    carries_out_ = command.size > 0 || command.awaited;
    lock.unlock();
    if (command.awaited) command.awaited->wait();
    if (command.size > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us_));
    if (command.adds)
      std::transform(command.from, command.from + command.size, command.into, command.into, std::plus());
    if (command.from && !command.adds) std::memcpy(command.into, command.from, command.size * sizeof(float));
    if (!command.from) std::fill_n(command.into, command.size, command.value);
    std::free(command.owned);
    if (command.mark) command.mark->reach();
    lock.lock();
    carries_out_ = false;
  }
}

LazyDevice::LazyDevice() : queue_(kDelay) {
  const int file = memfd_create("lazy device", 0);
  if (file < 0 || ftruncate(file, kAddressBytes) != 0) throw std::runtime_error("no memory file");
  addresses_ = map(file, PROT_NONE);
  memory_ = map(file, PROT_READ | PROT_WRITE);
  close(file);
}

LazyDevice::~LazyDevice() {
  queue_.wait();
  munmap(addresses_, kAddressBytes);
  munmap(memory_, kAddressBytes);
}

Buffer LazyDevice::allocate(std::size_t size) {
  EAVE_CHECK((used_ + size) * sizeof(float) <= kAddressBytes, "a lazy device is small");
  float* const start = addresses_ + std::exchange(used_, used_ + size);
  return Buffer(start, size, [](float*) noexcept {});
}

// A pointer to the device is stored before the values, so that freeing them finds the device, as a driver does.
Buffer LazyDevice::allocate_for_host(std::size_t size) {
  if (size == 0) return {};
  change_pinned();
  constexpr std::size_t kBefore = 64;  // bytes
  auto* const start = static_cast<char*>(std::aligned_alloc(kBefore, kBefore + (size * sizeof(float) + 63) / 64 * 64));
  *reinterpret_cast<LazyDevice**>(start) = this;
  auto* const values = reinterpret_cast<float*>(start + kBefore);
  std::fill_n(values, size, 0.0f);
  return Buffer(values, size, [](float* data) noexcept {
    char* const begin = reinterpret_cast<char*>(data) - kBefore;
    (*reinterpret_cast<LazyDevice**>(begin))->change_pinned();
    std::free(begin);
  });
}

bool LazyDevice::holds(ConstSlice values) const {
  return !values.empty() && values.data() >= addresses_ && values.data() < addresses_ + kAddressBytes / sizeof(float);
}

void LazyDevice::read(ConstSlice from, Slice host) {
  EAVE_CHECK(from.size() == host.size() && holds(from) && !holds(host), "not a copy to the host");
  queue_.enqueue({.into = host.data(), .from = reachable(from.data()), .size = host.size()});
  wait();
}

void LazyDevice::write(Slice into, ConstSlice host) {
  EAVE_CHECK(into.size() == host.size() && holds(into) && !holds(host), "not a copy to the device");
  auto* const copy = static_cast<float*>(std::malloc(host.size_bytes()));
  std::memcpy(copy, host.data(), host.size_bytes());
  queue_.enqueue({.into = reachable(into.data()), .from = copy, .size = host.size(), .owned = copy});
}

std::unique_ptr<CopyQueue> LazyDevice::make_copy_queue() { return std::make_unique<LazyCopies>(*this); }

void LazyDevice::copy(Slice into, ConstSlice from) {
  EAVE_CHECK(into.size() == from.size() && holds(into) && holds(from), "not a copy on the device");
  queue_.enqueue({.into = reachable(into.data()), .from = reachable(from.data()), .size = from.size()});
}

void LazyDevice::fill(Slice values, float value) {
  EAVE_CHECK(holds(values), "not on the device");
  queue_.enqueue({.into = reachable(values.data()), .size = values.size(), .value = value});
}

}  // namespace eave
