// Assigns places in one block of memory to values that live for a part of a step.
#pragma once

#include <cstdint>
#include <map>

namespace eave {

// Sizes and offsets in floats; every place begins at a multiple of 16.
class ArenaPlanner {
 public:
  std::int64_t take(std::int64_t size);  // returns the lowest free place
  void release(std::int64_t offset);     // frees a place that take returned
  std::int64_t peak() const { return peak_; }

 private:
  std::map<std::int64_t, std::int64_t> taken_;  // taken places: offset → end
  std::int64_t peak_ = 0;
};

}  // namespace eave
