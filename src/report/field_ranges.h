// What each number in a run's files can be. FORMATS.md states the same ranges, and test/house/formats_test holds the
// two together. Every reader of run files refuses other numbers: a flipped bit would give an accuracy of 890 %.
#pragma once

#include <span>
#include <string>

#include "report/json.h"

namespace eave {

enum class NumberKind { kWhole, kReal, kRealOrNull };

struct FieldRange {
  const char* field;  // "center.loss"; "ranks[].rank": of each element of a list
  NumberKind kind;
  double least, most;
};

// The ranges of a line of metrics.jsonl, by its type, or of "summary.json". Empty for another name.
std::span<const FieldRange> ranges_of(const std::string& record);

class OutOfRange : public Json::exception {
 public:
  explicit OutOfRange(const std::string& what) : exception(398, what.c_str()) {}
};

// Two fields, lines or files that cannot both be true.
class Contradiction : public OutOfRange {
 public:
  using OutOfRange::OutOfRange;
};

// Throws OutOfRange naming the field, its value and what it can be. Fields that are missing are the reader's to refuse.
void check_ranges(const Json& object, const std::string& record);
void check_range(const FieldRange& range, double value);

}  // namespace eave
