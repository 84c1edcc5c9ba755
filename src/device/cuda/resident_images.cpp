#include "device/cuda/resident_images.h"

#include <algorithm>
#include <vector>

#include "eave/check.h"

namespace eave::cuda {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{16} << 20;

Buffer make_tables(CudaDevice& device, const ImagePlacing& placing) {
  EAVE_CHECK(std::ssize(placing.tables) == placing.input.channels, "a table for each channel");
  std::vector<float> values;
  for (const std::array<float, 256>& table : placing.tables) values.insert(values.end(), table.begin(), table.end());
  Buffer tables = device.allocate(values.size());
  device.write(tables.slice(), values);
  return tables;
}

// Memory that was free a moment ago may be another process's now. Returns false if there is too little.
bool allocate_images(CudaDevice& device, std::int64_t bytes, const ImagePlacing& placing, ResidentImages& images) {
  try {
    images.tables = make_tables(device, placing);
    images.bytes = device_bytes(static_cast<std::size_t>(bytes));
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kResource) throw;
    static_cast<void>(cudaGetLastError());  // if the device is lost, the next call reports it
    return false;
  }
}

}  // namespace

std::unique_ptr<ResidentImages> load_resident_images(
    CudaDevice& device, std::int64_t count, const ImagePlacing& placing,
    const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read) {
  const std::int64_t size = placing.input.size();
  if (count == 0 || count * size > device.free_bytes() / 2) return nullptr;
  device.finish_all();
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
  if (!allocate_images(device, count * size, placing, *images)) return nullptr;
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
