// The range of each number in a run's files. Every reader of run files refuses numbers outside: one flipped bit could
// otherwise show an accuracy of 890 %. FORMATS.md states the same ranges, and test/house/formats_test compares the two.
#pragma once

#include <span>
#include <string>

#include "report/record/json.h"

namespace eave {

enum class NumberKind { kWhole, kReal, kRealOrNull };

struct FieldRange {
  const char* field;  // "center.loss"; "ranks[].rank" means this field of each list element
  NumberKind kind;
  double least, most;
};

// The ranges of a line of metrics.jsonl, named by its type, or of "summary.json". Empty for any other name.
std::span<const FieldRange> ranges_of(const std::string& record);

class OutOfRange : public Json::exception {
 public:
  explicit OutOfRange(const std::string& what) : exception(398, what.c_str()) {}
};

// Two fields, lines or files contradict each other.
class Contradiction : public OutOfRange {
 public:
  using OutOfRange::OutOfRange;
};

// Throws OutOfRange, which names the field, its value and its range. Missing fields pass: the reader refuses them.
void check_ranges(const Json& object, const std::string& record);
void check_range(const FieldRange& range, double value);

}  // namespace eave
