// The state of one rank as named vectors: as it goes into its file, and as it comes out of one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_format.h"
#include "eave/device.h"

namespace eave {

// A vector of a rank's state, in the device's memory or in the host's.
struct NamedSlice {
  std::string name;
  Slice values;
};

// Appends the slices as "OWNER.0", "OWNER.1" and so on.
void append_slices(std::vector<NamedSlice>& state, const std::string& owner, const std::vector<Slice>& slices);
bool is_among(const std::vector<Slice>& slices, Slice slice);
// Writes `values`, in the host's memory, to `into`, which may lie in the device's memory.
void write_values(Device& device, Slice into, ConstSlice values);

// A rank's state at one moment, as it goes into its file. Values in the host's memory are only referred to, unless they
// are copied. Memory of a state that was taken before is used again.
class TakenState {
 public:
  // Begins anew, with this header.
  void begin(const CheckpointHeader& header);
  void add(Device& device, const std::string& name, ConstSlice values, bool copies);
  // Likewise. The first vector that is the consensus gives the header its name.
  void add(Device& device, const NamedSlice& vector, ConstSlice consensus, bool copies);
  // If no vector that was added is the consensus, adds it on rank 0. Call it last.
  void add_consensus(Device& device, ConstSlice consensus, bool copies);

  const CheckpointHeader& header() const { return header_; }
  const std::vector<ConstSlice>& values() const { return values_; }

 private:
  CheckpointHeader header_;
  std::vector<ConstSlice> values_;
  std::deque<std::vector<float>> copies_;
  std::size_t copied_ = 0;
};

// What a rank saved.
struct SavedRank {
  CheckpointHeader header;
  std::vector<float> body;

  bool has(const std::string& name) const;
  bool fits(const NamedSlice& vector) const;         // has one of this name and size
  ConstSlice values(const std::string& name) const;  // throws Error(kBadData) if it has none of this name
};

// The steps that all ranks that saved had left out, as far as they count on this one of now `ranks` ranks. Those of
// ranks that are gone count on the ranks that remain.
std::int64_t share_of_nonfinite(const std::vector<CheckpointHeader>& saved, int rank, int ranks);

}  // namespace eave
