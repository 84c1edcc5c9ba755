// The CopyQueue of a GPU, used as a transport uses it: from another thread than the device's.
#include <memory>
#include <thread>

#include "eave/random.h"
#include "test/cuda/gpu.h"

namespace eave {
namespace {

class CopyQueueOnGpu : public OnGpu {};

std::vector<float> numbers(std::uint64_t seed, std::size_t count) {
  std::vector<float> values(count);
  RandomStream random({.seed = seed}, 0);
  for (float& value : values) value = random.normal();
  return values;
}

TEST_F(CopyQueueOnGpu, copies_and_adds_at_any_address_with_the_bits_of_the_host) {
  const std::unique_ptr<Device> device = module_->open_device(0);
  const std::size_t count = 100003;
  Buffer mine = device->allocate(count), theirs = device->allocate(count + 3);
  for (std::size_t shift : {0, 1, 3}) {
    const std::vector<float> a = numbers(1, count), b = numbers(2, count);
    std::vector<float> sum(count);
    std::thread([&] {
      const std::unique_ptr<CopyQueue> queue = device->make_copy_queue();
      const Slice from = theirs.slice().subspan(shift, count);
      queue->write(mine.slice(), a);
      queue->write(from, b);
      queue->add(mine.slice(), from);
      queue->add(mine.slice(), from);
      queue->read(mine.slice(), sum);
      queue->wait();
    }).join();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], (a[i] + b[i]) + b[i]) << i << " shifted by " << shift;
  }
}

}  // namespace
}  // namespace eave
