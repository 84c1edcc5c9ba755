// Which images stand in a folder, and of which class each is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace eave {

struct ImageFiles {
  std::vector<std::string> names;  // from the folder on: "train/cat/1.jpg"; ordered by class, then by name
  std::vector<std::int32_t> labels;
};

struct ImageListing {
  std::vector<std::string> classes;  // the names of their folders, ordered
  ImageFiles train;
  ImageFiles test;
  std::string test_folder;          // "test" or "val"; "": the folder has none, and `test` is empty
  std::vector<std::string> unused;  // folders beside `train` that are neither
};

// Throws Error: kInputMissing where there are no images or they cannot be looked at; kBadData where a class has none or
// something stands among them that is none. Names that begin with a dot are passed over.
ImageListing list_images(const std::filesystem::path& folder);

// Moves about this share of each class, above 0 and below 1, to the test set: those whose names hash below it, so that
// a file's part hangs on its name and the share alone, whatever else is there or comes later. But one of each class is
// held out, that of the lowest hash, and one is not, that of the highest: where nothing is below the share, or all is,
// a new file may take its place. Throws Error(kBadData) where a class has only one.
void hold_out_images(ImageListing& listing, double share);

}  // namespace eave
