// One rank's file of a checkpoint. All numbers are little-endian:
//
//   magic "EAVESTAT", version, byte order, bytes of the header, bytes of the file      32 bytes
//   step, rank, ranks, configuration, progress, updates, name of the consensus         the rest of the header,
//   count of vectors; of each its name, number of values and XXH3-128                  at most 1 MiB, padded to 64
//   bytes the vectors' float32 values, one after another XXH3-128 of all before 16 bytes
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_calls.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "eave/slice.h"
#include "eave/trainer.h"

namespace eave {

struct CheckpointVector {
  std::string name;  // of A-Z a-z 0-9 . _ -
  std::uint64_t size = 0;
  Hash128 hash;  // of its values
  bool operator==(const CheckpointVector&) const = default;
};

struct CheckpointHeader {
  int rank = 0, ranks = 1;
  Hash128 configuration;
  TrainingProgress progress;
  std::int64_t updates = 0;    // Optimizer::update_count
  std::string consensus = {};  // the vector that holds it; "": it is in rank 0's file
  std::vector<CheckpointVector> vectors = {};
};

// What the manifest says of a rank's file.
struct StoredFile {
  std::string name = {};
  std::uint64_t bytes = 0;
  Hash128 hash = {};
};

// Of names in files, and of files that are named in files.
bool is_plain_name(std::string_view name);

// Throws Error(kBadData), without the file's name: what does not fit, before anything is allocated for it.
// `bytes`: the whole header. `file_bytes`: of the whole file.
CheckpointHeader parse_checkpoint_header(std::string_view bytes, std::uint64_t file_bytes);
std::string encode_checkpoint_header(const CheckpointHeader& header);

// Writes and flushes a new file. `values`: those of header.vectors, whose hashes are filled in. Throws Error:
// kCannotCreate, kInputOutput.
StoredFile write_checkpoint_file(const OutputPath& path, CheckpointHeader header, const std::vector<ConstSlice>& values,
                                 FileCalls& calls);

// Reads the whole file and holds it against what the manifest says. `body`: where its values go; nullptr: they are
// only checked, also that the model in it is finite. `source`: what brings its bytes; nullptr: they are read there.
// Throws Error(kBadData) naming the file and what is wrong with it, kInputMissing.
CheckpointHeader read_checkpoint_file(const std::filesystem::path& directory, const StoredFile& expected,
                                      std::vector<float>* body, ByteStream* source = nullptr);

}  // namespace eave
