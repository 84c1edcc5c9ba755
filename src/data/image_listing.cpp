#include "data/image_listing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <compare>
#include <utility>

#include "base/hash.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected a folder for each class with .jpg, .jpeg or .png files, in train and test (or val), or without those two "
    "in the directory itself";

bool is_image_name(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

struct Entries {
  std::vector<std::string> folders, files;  // ordered
};

// What stands in a folder; links count as what they point to.
Entries entries_of(const fs::path& folder) {
  Entries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) (entry.is_directory() ? entries.folders : entries.files).push_back(name);
  }
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.files);
  return entries;
}

// Class folders stand in a folder beside whatever else, but no image stands there without a class.
std::vector<std::string> classes_in(const fs::path& folder) {
  Entries entries = entries_of(folder);
  const auto stray = std::ranges::find_if(entries.files, is_image_name);
  if (stray != entries.files.end()) {
    throw Error(ExitCode::kBadData, (folder / *stray).string() + " stands in no class folder; " + kExpected);
  }
  return std::move(entries.folders);
}

void append_class(const fs::path& place, const std::string& folder, std::int32_t label, ImageFiles& images) {
  const Entries entries = entries_of(place / folder);
  const auto foreign = std::ranges::find_if_not(entries.files, is_image_name);
  if (foreign != entries.files.end() || !entries.folders.empty()) {
    const std::string name = foreign != entries.files.end() ? *foreign : entries.folders.front();
    throw Error(ExitCode::kBadData, (place / folder / name).string() +
                                        " is no .jpg, .jpeg or .png file and stands in a class folder; remove it, or "
                                        "let its name begin with a dot");
  }
  if (entries.files.empty()) {
    throw Error(ExitCode::kBadData,
                (place / folder).string() + " holds no images; remove the folder of a class that has none");
  }
  for (const std::string& name : entries.files) {
    images.names.push_back(folder + "/" + name);
    images.labels.push_back(label);
  }
}

// `part` is "train/" or "", and so on.
ImageFiles images_of(const fs::path& place, const std::string& part, const std::vector<std::string>& folders,
                     const std::vector<std::string>& classes) {
  ImageFiles images;
  for (const std::string& folder : folders) {
    const auto found = std::ranges::lower_bound(classes, folder);
    if (found == classes.end() || *found != folder) {
      throw Error(ExitCode::kBadData,
                  (place / (part + folder)).string() + " is of a class that is not in " + (place / "train").string());
    }
    append_class(place, part + folder, static_cast<std::int32_t>(found - classes.begin()), images);
  }
  return images;
}

ImageListing list(const fs::path& place) {
  const bool has_train = fs::is_directory(place / "train");
  const std::string part = has_train ? "train/" : "";
  ImageListing listing;
  listing.classes = classes_in(place / part);
  for (const std::string folder : {"test", "val"}) {
    if (!fs::is_directory(place / folder)) continue;
    if (!has_train) {
      throw Error(ExitCode::kInputMissing, "no files of image-folder in " + (place / "train").string() +
                                               ", but there is " + (place / folder).string() + "; " + kExpected);
    }
    const std::vector<std::string> folders = classes_in(place / folder);
    if (folders.empty()) continue;
    listing.test = images_of(place, folder + "/", folders, listing.classes);
    listing.test_folder = folder;
    break;
  }
  if (listing.classes.size() < 2) {
    throw Error(ExitCode::kInputMissing, "no files of image-folder in " + (place / part).string() + ": it holds " +
                                             std::to_string(listing.classes.size()) +
                                             " class folders, expected at least 2; " + kExpected);
  }
  listing.train = images_of(place, part, listing.classes, listing.classes);
  return listing;
}

}  // namespace

ImageListing list_images(const fs::path& folder) {
  try {
    if (fs::is_directory(folder)) return list(folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kInputMissing, std::string("--data-dir cannot be looked through: ") + error.what());
  }
  throw Error(ExitCode::kInputMissing,
              "no directory " + folder.string() + " for image-folder; " + kExpected + ", and its name as --data-dir");
}

void hold_out_images(ImageListing& listing, double share) {
  struct Drawn {
    std::uint64_t high, low;
    std::size_t place;
    auto operator<=>(const Drawn&) const = default;
  };
  std::vector<std::vector<Drawn>> of_class(listing.classes.size());
  ImageFiles all = std::move(listing.train);
  for (std::size_t i = 0; i < all.names.size(); ++i) {
    const Hash128 hash = hash_of(all.names[i]);
    of_class[static_cast<std::size_t>(all.labels[i])].push_back({hash.high, hash.low, i});
  }
  std::vector<char> is_held(all.names.size(), 0);
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    std::vector<Drawn>& images = of_class[label];
    const auto count = static_cast<std::int64_t>(images.size());
    if (count < 2) {
      throw Error(ExitCode::kBadData, "class " + listing.classes[label] + " has one image (" +
                                          all.names[images[0].place] +
                                          "): none for training where one is held out for the test set; add a test "
                                          "folder, or images");
    }
    std::ranges::sort(images);
    const std::int64_t held = std::clamp<std::int64_t>(std::llround(share * static_cast<double>(count)), 1, count - 1);
    for (std::int64_t i = 0; i < held; ++i) is_held[images[static_cast<std::size_t>(i)].place] = 1;
  }
  listing.train = {};
  for (std::size_t i = 0; i < all.names.size(); ++i) {
    ImageFiles& part = is_held[i] ? listing.test : listing.train;
    part.names.push_back(std::move(all.names[i]));
    part.labels.push_back(all.labels[i]);
  }
}

}  // namespace eave
