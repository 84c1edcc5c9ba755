// Finds places in one stretch of memory for values that live for a while.
#pragma once

#include <cstdint>
#include <map>

namespace eave {

// Sizes and offsets in floats; every place begins at a multiple of 16.
class ArenaPlanner {
 public:
  std::int64_t take(std::int64_t size);  // the lowest place that is free
  void release(std::int64_t offset);     // taken before
  std::int64_t peak() const { return peak_; }

 private:
  std::map<std::int64_t, std::int64_t> taken_;  // offset → end
  std::int64_t peak_ = 0;
};

}  // namespace eave
