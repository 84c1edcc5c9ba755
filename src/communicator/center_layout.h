// How a center is cut: into shards of equal size, which a few ranks keep in contiguous runs.
#pragma once

#include <cstddef>
#include <vector>

namespace eave {

struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;
};

template <class Span>
Span cut(Span whole, const Range& range) {
  return whole.subspan(range.begin, range.size);
}

// Parameters of a shard, at most `longest`, with which all owners keep the same. Where that would be less than 16 KiB
// for each, shards are that long, or `longest`, and some owners keep none: each shard is a message of every worker.
std::size_t even_shard_size(std::size_t size, std::size_t longest, std::size_t owners);
// Of a center with so many shards of such a size, for some `longest` of 16 KiB or more.
std::size_t shard_size_of(std::size_t size, std::size_t shards, std::size_t owners);

class CenterLayout {
 public:
  // `size` parameters in shards of `shard_size` (the last is shorter); `owners` are ranks, at least one.
  CenterLayout(std::size_t size, std::size_t shard_size, std::vector<int> owners);

  std::size_t shards() const { return shards_; }
  const std::vector<int>& owners() const { return owners_; }
  int owner(std::size_t shard) const;
  // Where a shard lies in a vector as large as the parameters.
  Range shard(std::size_t shard) const;
  // What `rank` keeps of such a vector, and in which shards; empty for a rank that keeps none.
  Range kept(int rank) const;
  std::size_t first_kept(int rank) const;
  std::size_t count_kept(int rank) const;
  // All shards, one of each owner in turn, from the owner at `first` in owners() on: who asks in this order asks all
  // owners at a time, and whoever else does so from another one on is not in its way.
  std::vector<std::size_t> dealt_out(std::size_t first) const;

 private:
  // The first shard s with s · owners / shards ≥ owner.
  std::size_t begin_of(std::size_t owner) const { return (owner * shards_ + owners_.size() - 1) / owners_.size(); }
  std::size_t index_of(int rank) const;  // owners_.size(): keeps none

  std::size_t size_, shard_size_, shards_;
  std::vector<int> owners_;
};

}  // namespace eave
