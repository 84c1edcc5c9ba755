// Ranks by batch, as a lab notebook has it: seconds, speed-up and accuracy of one method.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/variants.h"

namespace eave {

struct NotebookTable {
  struct Cell {
    std::size_t variant = 0;
    std::optional<double> speedup;  // samples/s over those of one rank in the same column
  };
  struct Row {
    int ranks = 0;
    std::vector<std::optional<Cell>> cells;  // by batch
  };
  std::string method, place;
  bool total = false;           // the columns are total batches, else batches per rank
  std::vector<double> batches;  // rising
  std::vector<Row> rows;        // by rising ranks; that of one rank is the fastest method's where this one has none
};

// For each method and place: a table for the batch per rank kept and one for the total batch kept, where there is a
// column with at least two numbers of ranks. Of chosen variants with finished runs.
std::vector<NotebookTable> notebook_tables(const std::vector<Variant>& variants);

}  // namespace eave
