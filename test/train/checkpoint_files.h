// Checkpoints with crafted numbers, written without a training.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/durable.h"
#include "train/checkpoint_directory.h"

namespace eave {

inline std::vector<float> crafted_values(std::size_t size, std::int64_t step) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), static_cast<float>(step) + 0.5f);
  return values;
}

inline CheckpointHeader crafted_header(int rank, int ranks, std::int64_t step) {
  CheckpointHeader header;
  header.rank = rank;
  header.ranks = ranks;
  header.configuration = configuration_of({{"seed", "1"}});
  header.progress.steps = step;
  header.progress.samples = 16 * step;
  header.progress.seconds = 1.5;
  header.consensus = "parameters";
  header.vectors = {{"parameters", 37, {}}, {"statistics", 0, {}}, {"optimizer.0", 37, {}}};
  return header;
}

// Of two ranks.
inline Manifest write_crafted(const std::filesystem::path& directory, std::int64_t step,
                              FileCalls& calls = system_file_calls()) {
  Manifest manifest{step, 16 * step, {{"seed", "1"}}};
  make_directory(directory, calls);
  make_directory(partial_place(directory, step), calls);
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<float> parameters = crafted_values(37, step), momentum = crafted_values(37, -step);
    manifest.files.push_back(write_checkpoint_file(partial_place(directory, step) / rank_file_name(rank),
                                                   crafted_header(rank, 2, step), {parameters, {}, momentum}, calls));
  }
  commit_checkpoint(directory, manifest, calls);
  return manifest;
}

inline std::string bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// In its place: to write a file anew would wait for the disk.
inline void flip_bit(const std::filesystem::path& path, std::size_t bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const char flipped = static_cast<char>(file.get() ^ (1 << bit % 8));
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(flipped);
}

}  // namespace eave
