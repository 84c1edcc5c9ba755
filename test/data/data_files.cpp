#include "test/data/data_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "test/base/option_values.h"
#include "test/expectations.h"

namespace eave {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EAVE_CHECK(file.good(), "cannot write " + path.string());
}

Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  EAVE_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib starts");
  Bytes packed(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<std::uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EAVE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs");
  const std::size_t count = stream.total_out;
  deflateEnd(&stream);
  return first(packed, count);
}

Bytes operator+(Bytes bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

Bytes first(const Bytes& bytes, std::size_t count) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

Bytes with(Bytes bytes, std::size_t offset, std::uint8_t value) {
  bytes.at(offset) = value;
  return bytes;
}

Bytes idx_header(std::initializer_list<std::uint32_t> dimensions) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(dimension >> shift));
  }
  return bytes;
}

Bytes idx_file(std::initializer_list<std::uint32_t> dimensions, const Bytes& values) {
  Bytes bytes = idx_header(dimensions);
  std::size_t count = 1;
  for (const std::uint32_t dimension : dimensions) count *= dimension;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(values[i % values.size()]);
  return bytes;
}

std::map<std::string, Bytes> small_idx_set() {
  const Bytes labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  Bytes pixels(251);  // prime, so that no two images are alike
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  return {{"train-images-idx3-ubyte", idx_file({30, 6, 5}, pixels)},
          {"train-labels-idx1-ubyte", idx_file({30}, labels)},
          {"t10k-images-idx3-ubyte", idx_file({10, 6, 5}, pixels)},
          {"t10k-labels-idx1-ubyte", idx_file({10}, labels)}};
}

void write_set(const fs::path& directory, const std::map<std::string, Bytes>& files) {
  for (const auto& [name, bytes] : files) write_bytes(directory / name, bytes);
}

void write_cifar10_set(const fs::path& directory) {
  constexpr std::size_t kRecord = 3073;
  int number = 0;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    Bytes records(100 * kRecord);
    for (std::size_t i = 0; i < 100; ++i) {
      records[i * kRecord] = static_cast<std::uint8_t>(i % 10);
      for (std::size_t k = 1; k < kRecord; ++k) {
        records[i * kRecord + k] = static_cast<std::uint8_t>(k + 3 * i + 7 * static_cast<std::size_t>(number));
      }
    }
    write_bytes(directory / name, records);
    fs::resize_file(directory / name, 10000 * kRecord);
    ++number;
  }
}

OptionValues options_of(const DatasetKind& kind, const std::map<std::string, std::string>& given) {
  return values_of(kind.options, {given.begin(), given.end()});
}

Bytes pixels_of(const Dataset& dataset, std::int64_t index) {
  Bytes pixels(static_cast<std::size_t>(dataset.shape().size()));
  dataset.read(index, pixels);
  return pixels;
}

DataSplit open_dataset(const std::string& name, const std::map<std::string, std::string>& given) {
  const DatasetKind& kind = find_kind(dataset_kinds(), name);
  return kind.open(options_of(kind, given));
}

Refusal refusal_of(const std::function<void()>& action) {
  const Error error = error_of(action);
  return {error.code(), error.what()};
}

void expect_refusal(const Refusal& found, ExitCode code, const std::vector<std::string>& words) {
  EXPECT_EQ(found.code, code) << found;
  for (const std::string& word : words) EXPECT_TRUE(found.names(word)) << word << "\nnot in\n" << found;
}

std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << refusal.code << ": " << refusal.text;
}

std::ostream& operator<<(std::ostream& out, ExitCode code) { return out << "exit code " << static_cast<int>(code); }

}  // namespace eave
