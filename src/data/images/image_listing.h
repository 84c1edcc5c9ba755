// Lists the images in a folder, and the class of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/data_directory.h"
#include "eave/dataset.h"

namespace eave {

struct ImageFiles {
  std::vector<std::string> names;  // relative to the folder: "train/cat/1.jpg"; ordered by class, then by name
  std::vector<std::int32_t> labels;
};

struct ImageListing {
  std::vector<std::string> classes = {};  // names of the class folders, sorted
  ImageFiles train = {};
  ImageFiles test = {};
  std::string test_folder = {};  // "test" or "val"; "": the folder has none, and `test` is empty
  // "test" if that folder has images, but none in a folder named like a class of `train`; else "".
  std::string unlabelled = {};
  // Folders beside `train` that are neither test nor unlabelled.
  std::vector<std::string> unused = {};
  std::vector<BadSample> bad = {};  // judged by name: broken links, formats that eave does not decode
  // Entries that are not images: notes.txt, Thumbs.db, names that begin with a dot. In class folders and beside them.
  PassedOver passed_over = {};
  // About classes that differ only in letter case, or have no test images.
  std::vector<std::string> warnings = {};
};

// Throws Error: kInputMissing if there are no images or they cannot be looked at; kBadData if a class has no image, or
// images are in no class folder.
ImageListing list_images(const std::filesystem::path& folder);

// The number of images, bad ones included.
std::int64_t count_images(const ImageListing& listing);

// Moves about this share of each class, above 0 and below 1, to the test set. An image moves if the hash of its name is
// below the share. So its part depends on its name and the share only, not on other files or on files added later.
//
// There is one exception: in each class the image with the lowest hash always moves, and the one with the highest hash
// never does. If all or none of a class would move, a new file may change places with that image. Throws
// Error(kBadData) if a class has only one image.
void hold_out_images(ImageListing& listing, double share);

}  // namespace eave
