// How a center is divided: into shards of equal size. Each owner, a rank, keeps a contiguous run of shards.
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

// The number of parameters of a shard, at most `longest`, with which all owners keep equally much. If an owner would
// keep less than 16 KiB, shards have 16 KiB (or `longest`), and some owners keep none. The reason: each shard costs
// every worker one message.
std::size_t even_shard_size(std::size_t size, std::size_t longest, std::size_t owners);
// The shard size that even_shard_size gave for a center with `shards` shards, for some `longest` of 16 KiB or more.
std::size_t shard_size_of(std::size_t size, std::size_t shards, std::size_t owners);

class CenterLayout {
 public:
  // Divides `size` parameters into shards of `shard_size`; the last shard is shorter. `owners` are ranks, at least one.
  CenterLayout(std::size_t size, std::size_t shard_size, std::vector<int> owners);

  std::size_t shards() const { return shards_; }
  const std::vector<int>& owners() const { return owners_; }
  int owner(std::size_t shard) const;
  // The range of a shard in a vector that is as large as the parameters.
  Range shard(std::size_t shard) const;
  // The part of such a vector that `rank` keeps, the first of its shards, and their number. The part is empty if the
  // rank keeps no shard.
  Range kept(int rank) const;
  std::size_t first_kept(int rank) const;
  std::size_t count_kept(int rank) const;
  // All shards, one of each owner in turn, beginning with the owner at index `first` in owners(). A worker that asks in
  // this order uses all owners at the same time. Workers with different `first` do not get in each other's way.
  std::vector<std::size_t> dealt_out(std::size_t first) const;

 private:
  // The first shard s with s · owners / shards ≥ owner.
  std::size_t begin_of(std::size_t owner) const { return (owner * shards_ + owners_.size() - 1) / owners_.size(); }
  std::size_t index_of(int rank) const;  // owners_.size() if the rank keeps none

  std::size_t size_, shard_size_, shards_;
  std::vector<int> owners_;
};

}  // namespace eave
