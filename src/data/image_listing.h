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
  std::string test_folder;  // "test" or "val"; "": the folder has none, and `test` is empty
};

// Throws Error: kInputMissing where there are no images or they cannot be looked at; kBadData where a class has none or
// something stands among them that is none. Names that begin with a dot are passed over.
ImageListing list_images(const std::filesystem::path& folder);

// Moves this share of each class, above 0 and below 1, to the test set: at least one image and not all; the same ones
// each time, by a hash of their names, whatever else is in the folder. Throws Error(kBadData) where a class has only
// one.
void hold_out_images(ImageListing& listing, double share);

}  // namespace eave
