// Helpers that write checkpoints with crafted numbers, without a training, and that damage files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "checkpoint/checkpoint_directory.h"

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

// Writes and commits a checkpoint of two ranks after `step` steps. If `spoiled` is not -1, the parameter of rank 1 with
// this index is NaN.
inline Manifest write_crafted(const std::filesystem::path& directory, std::int64_t step,
                              FileCalls& calls = system_file_calls(), int spoiled = -1) {
  Manifest manifest{step, 16 * step, {{"seed", "1"}}};
  make_directory(directory, calls);
  const OutputFolder partial = partial_folder(directory, step);
  make_directory(partial, calls);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<float> parameters = crafted_values(37, step);
    const std::vector<float> momentum = crafted_values(37, -step);
    if (rank == 1 && spoiled >= 0)
      parameters[static_cast<std::size_t>(spoiled)] = std::numeric_limits<float>::quiet_NaN();
    manifest.files.push_back(write_checkpoint_file(partial / rank_file_name(rank), crafted_header(rank, 2, step),
                                                   {parameters, {}, momentum}, calls));
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

// Flips a bit of the file in place. Writing the whole file anew would wait for the disk.
inline void flip_bit(const std::filesystem::path& path, std::size_t bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const char flipped = static_cast<char>(file.get() ^ (1 << bit % 8));
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(flipped);
}

}  // namespace eave
