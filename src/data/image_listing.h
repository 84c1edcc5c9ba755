// Which images stand in a folder, and of which class each is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eave/dataset.h"

namespace eave {

struct ImageFiles {
  std::vector<std::string> names;  // from the folder on: "train/cat/1.jpg"; ordered by class, then by name
  std::vector<std::int32_t> labels;
};

// Entries of folders that are no images: notes.txt, Thumbs.db, names that begin with a dot.
struct PassedOver {
  std::int64_t count = 0;
  std::vector<std::string> first;  // up to kMostNamed, from the folder on
  static constexpr std::size_t kMostNamed = 4;
};

struct ImageListing {
  std::vector<std::string> classes = {};  // the names of their folders, ordered
  ImageFiles train = {};
  ImageFiles test = {};
  std::string test_folder = {};            // "test" or "val"; "": the folder has none, and `test` is empty
  std::string unlabelled = {};             // "test": it has images, but none in a folder of a class of train; ""
  std::vector<std::string> unused = {};    // folders beside `train` that are neither
  std::vector<BadSample> bad = {};         // by their names alone: dangling links, formats that eave does not decode
  PassedOver passed_over = {};             // in folders of classes and beside them
  std::vector<std::string> warnings = {};  // of classes that differ in case only, or have no test images
};

// Throws Error: kInputMissing where there are no images or they cannot be looked at; kBadData where a class has none,
// or images stand in no class folder.
ImageListing list_images(const std::filesystem::path& folder);

// With bad ones.
std::int64_t count_images(const ImageListing& listing);

// Takes these files and the bad ones out. Throws Error(kBadData) where none is left of a class, or of the test set.
void leave_out(ImageListing& listing, const std::vector<BadSample>& files);

// Moves about this share of each class, above 0 and below 1, to the test set: those whose names hash below it, so that
// a file's part hangs on its name and the share alone, whatever else is there or comes later. But one of each class is
// held out, that of the lowest hash, and one is not, that of the highest: where nothing is below the share, or all is,
// a new file may take its place. Throws Error(kBadData) where a class has only one.
void hold_out_images(ImageListing& listing, double share);

}  // namespace eave
