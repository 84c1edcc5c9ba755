// Tables of one method with a row for each number of ranks and a column for each batch. A cell shows seconds, speed-up
// and accuracy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/variants.h"

namespace eave {

struct ScalingTable {
  struct Cell {
    std::size_t variant = 0;
    std::optional<double> speedup;  // samples/s divided by that of one rank in the same column
  };
  struct Row {
    int ranks = 0;
    std::vector<std::optional<Cell>> cells;  // one for each batch
  };
  std::string method, place;
  bool total = false;           // true: columns are total batches; false: batches per rank
  std::vector<double> batches;  // ascending
  // Ascending by ranks. If this method has no run of one rank, that row shows the fastest method that has one.
  std::vector<Row> rows;
};

// Makes, for each method and place, one table with the batch per rank kept and one with the total batch kept. A table
// needs a column with at least two numbers of ranks. Only chosen variants with finished runs are used.
std::vector<ScalingTable> scaling_tables(const std::vector<Variant>& variants);

}  // namespace eave
