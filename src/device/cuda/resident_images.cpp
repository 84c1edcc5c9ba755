#include "device/cuda/resident_images.h"

#include <algorithm>
#include <vector>

#include "eave/check.h"

namespace eave::cuda {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{16} << 20;

Buffer make_tables(CudaDevice& device, const ImagePlacing& placing) {
  const auto channels = static_cast<std::size_t>(placing.input.channels);
  EAVE_CHECK(placing.mean.size() == channels && placing.deviation.size() == channels,
             "one mean and deviation per channel");
  std::vector<float> values;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (int value = 0; value < 256; ++value) {
      const double scaled = value / 255.0;
      values.push_back(
          static_cast<float>((scaled - double{placing.mean[channel]}) / double{placing.deviation[channel]}));
    }
  }
  Buffer tables = device.allocate(values.size());
  device.write(tables.slice(), values);
  return tables;
}

}  // namespace

std::unique_ptr<ResidentImages> load_resident_images(
    CudaDevice& device, std::int64_t count, const ImagePlacing& placing,
    const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read) {
  const std::int64_t size = placing.input.size();
  if (count == 0 || count * size > device.free_bytes() / 2) return nullptr;
  auto images = std::make_unique<ResidentImages>();
  images->placing = {.samples = 0,
                     .input = placing.input,
                     .pad = placing.pad,
                     .crop_height = placing.output.height,
                     .crop_width = placing.output.width,
                     .random = placing.random,
                     .flip = placing.flip,
                     .channels = placing.output.channels};
  images->seed = placing.seed;
  images->tables = make_tables(device, placing);
  images->bytes = device_bytes(static_cast<std::size_t>(count * size));
  const std::int64_t piece = std::clamp<std::int64_t>(kPieceBytes / size, 1, count);
  const HostBytes pinned = host_bytes(static_cast<std::size_t>(piece * size));
  auto* from = static_cast<std::uint8_t*>(pinned.get());
  auto* into = static_cast<std::uint8_t*>(images->bytes.get());
  for (std::int64_t first = 0; first < count; first += piece) {
    const std::int64_t images_now = std::min(piece, count - first);
    for (std::int64_t i = 0; i < images_now; ++i) {
      read(first + i, std::span(from + i * size, static_cast<std::size_t>(size)));
    }
    EAVE_CUDA(cudaMemcpyAsync(into + first * size, from, static_cast<std::size_t>(images_now * size),
                              cudaMemcpyHostToDevice, device.stream()));
    device.wait();
  }
  return images;
}

}  // namespace eave::cuda
