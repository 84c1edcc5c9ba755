// Datasets of the MNIST family: four IDX files in one directory, ten classes.
#pragma once

#include "data/files/data_directory.h"
#include "eave/dataset.h"

namespace eave {

struct IdxSet {
  DataDirectories directories;
  float mean = 0;
  float deviation = 1;
};

// Opens and verifies the four files. Throws as DatasetKind::open does.
DataSplit open_idx_set(const IdxSet& set, const OptionValues& values);

}  // namespace eave
