// Measures how many images per second the loader prepares, which must exceed what training steps consume. Also compares
// the cost of a sample copied from a memory-mapped file with that of a sample read from the file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "data/files/byte_source.h"
#include "data/files/mapped_file.h"
#include "eave/dataset.h"
#include "eave/loader.h"

namespace eave {
namespace {

constexpr std::int64_t kImages = 10'000;
constexpr std::int64_t kBatch = 128;

// Random images in memory, as those of real datasets are after opening.
class Noise : public Dataset {
 public:
  explicit Noise(ImageShape shape) : shape_(shape), pixels_(static_cast<std::size_t>(kImages * shape.size())) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = static_cast<std::uint8_t>(i * 2654435761U >> 24U);
  }
  std::int64_t size() const override { return kImages; }
  ImageShape shape() const override { return shape_; }
  int classes() const override { return 10; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % 10); }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    std::copy_n(pixels_.begin() + index * shape_.size(), shape_.size(), pixels.begin());
  }

 private:
  ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
};

void load(benchmark::State& state, ImageShape shape, const Augmentation& augmentation) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  DataSplit split;
  split.train = std::make_unique<Noise>(shape);
  split.mean.assign(channels, 0.5F);
  split.deviation.assign(channels, 0.25F);
  Sampler sampler(Sampling::kShard, kImages, 1, kBatch, 1, {});
  Loader::Settings settings;
  settings.augmentation = augmentation;
  settings.last_step = INT64_MAX;
  Loader loader(split, sampler, settings);
  std::int64_t images = 0;
  for (auto _ : state) {
    const Batch& batch = loader.next();
    images += batch.samples;
    benchmark::DoNotOptimize(batch.inputs.data());
  }
  state.SetItemsProcessed(images);
}

BENCHMARK_CAPTURE(load, grey_28x28, ImageShape{28, 28, 1}, Augmentation{})->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK_CAPTURE(load, colour_32x32_pad_crop_flip, ImageShape{32, 32, 3}, Augmentation{4, 32, 32, true})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// A file of 48 MiB of samples, in the page cache, and a random order to read them. It is written in pieces of 32 KiB,
// as an unpacking program writes. The page cache holds pieces of that size; a piece of 2 MiB would need only one page
// fault.
class SampleFile {
 public:
  explicit SampleFile(std::size_t sample) : order_((std::size_t{48} << 20) / sample) {
    std::string name = (std::filesystem::temp_directory_path() / "eave-samples-XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path_ = name;
    const std::vector<char> piece(32768, 1);
    std::ofstream file(path_, std::ios::binary);
    for (std::size_t written = 0; written < order_.size() * sample; written += piece.size())
      file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i * sample;
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
  }
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;
  ~SampleFile() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::size_t next() { return order_[at_++ % order_.size()]; }  // offset of the next sample

 private:
  std::filesystem::path path_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

// Argument: bytes of a sample.
template <typename Source>
void read_samples(benchmark::State& state) {
  std::vector<std::uint8_t> sample(static_cast<std::size_t>(state.range(0)));
  SampleFile file(sample.size());
  const Source source(FileSource(file.path()));
  for (auto _ : state) benchmark::DoNotOptimize(source.read_at(file.next(), sample));
}

BENCHMARK(read_samples<FileSource>)->Arg(784)->Arg(3073)->Arg(65536);
BENCHMARK(read_samples<MappedFile>)->Arg(784)->Arg(3073)->Arg(65536);

}  // namespace
}  // namespace eave
