// The format of one rank's file of a checkpoint. All numbers are little-endian. The parts follow one another:
//
//   prelude, 32 bytes   magic "EAVESTAT", version, byte order, bytes of the header, bytes of the file
//   rest of the header  step, rank, ranks, configuration, progress, updates, name of the consensus, count of vectors;
//                       for each vector its name, number of values and XXH3-128
//   values              the float32 values of the vectors, one after another
//   hash, 16 bytes      XXH3-128 of all bytes before it
//
// The header, prelude included, has at most 1 MiB and is padded to a multiple of 64 bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/hash.h"
#include "eave/checkpoint.h"
#include "eave/slice.h"

namespace eave {

struct CheckpointVector {
  std::string name;  // characters A-Z a-z 0-9 . _ - only
  std::uint64_t size = 0;
  Hash128 hash;  // of its values
  bool operator==(const CheckpointVector&) const = default;
};

struct CheckpointHeader {
  int rank = 0, ranks = 1;
  Hash128 configuration;
  TrainingProgress progress;
  std::int64_t updates = 0;    // Optimizer::update_count
  std::string consensus = {};  // the vector that holds the consensus; "": only rank 0's file has it
  std::vector<CheckpointVector> vectors = {};
};

// A rank's file, as the manifest describes it.
struct StoredFile {
  std::string name = {};
  std::uint64_t bytes = 0;
  Hash128 hash = {};
};

// Whether a name read from a file may be used: as the name of a vector, or of a file in the checkpoint's directory.
bool is_plain_name(std::string_view name);

// Throws Error(kBadData) if anything in the header does not fit, before memory is allocated for it. The message does
// not name the file. `bytes` is the whole header, `file_bytes` the size of the whole file.
CheckpointHeader parse_checkpoint_header(std::string_view bytes, std::uint64_t file_bytes);
std::string encode_checkpoint_header(const CheckpointHeader& header);

// Writes a new file and flushes it to the disk. `values` are those of header.vectors, in that order; this fills in
// their hashes. Throws Error: kCannotCreate, kInputOutput.
StoredFile write_checkpoint_file(const OutputPath& path, CheckpointHeader header, const std::vector<ConstSlice>& values,
                                 FileCalls& calls);

// Reads the whole file and checks it against `expected`. The values go to `body`. If `body` is nullptr, the values are
// only checked, and the model among them must be finite. The bytes come from `source`, or from `directory` if it is
// nullptr. Throws Error: kBadData, with the file and what is wrong with it; kInputMissing.
CheckpointHeader read_checkpoint_file(const std::filesystem::path& directory, const StoredFile& expected,
                                      std::vector<float>* body, ByteStream* source = nullptr);

}  // namespace eave
