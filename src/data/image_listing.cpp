#include "data/image_listing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <ranges>
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
  std::string broken_link;                  // one of the files; ""
};

// What stands in a folder; links count as what they point to.
Entries entries_of(const fs::path& folder) {
  Entries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    (entry.is_directory() ? entries.folders : entries.files).push_back(name);
    if (entry.is_symlink() && !entry.exists()) entries.broken_link = name;
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
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw Error(ExitCode::kBadData, (place / folder / name).string() + why);
  };
  if (!entries.folders.empty()) {
    refuse(
        entries.folders.front(),
        " is a folder inside a class folder; eave looks for class folders in train and test (or val), spelled so, or "
        "in --data-dir itself: rename or move what stands around it");
  }
  const auto foreign = std::ranges::find_if_not(entries.files, is_image_name);
  if (foreign != entries.files.end()) {
    refuse(*foreign,
           " is no .jpg, .jpeg or .png file and stands in a class folder; remove it, or let its name begin with a dot");
  }
  if (!entries.broken_link.empty()) {
    refuse(entries.broken_link, " is a link to a file that is not there; remove it, or bring the file back");
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
      throw Error(ExitCode::kBadData, (place / (part + folder)).string() + " is of a class that is not in " +
                                          (place / "train").string() + "; add its images there, or remove it");
    }
    append_class(place, part + folder, static_cast<std::int32_t>(found - classes.begin()), images);
  }
  return images;
}

// Of a set that has a folder train: names that neither part is read from.
std::vector<std::string> folders_beside_train(const fs::path& place, const std::string& test_folder) {
  std::vector<std::string> folders = entries_of(place).folders;
  std::erase_if(folders, [&](const std::string& name) {
    return name == "train" || name == test_folder || (test_folder.empty() && (name == "test" || name == "val"));
  });
  return folders;
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
  if (has_train) listing.unused = folders_beside_train(place, listing.test_folder);
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
  const auto bound = static_cast<std::uint64_t>(std::ldexp(share, 64));
  const ImageFiles all = std::move(listing.train);
  std::vector<std::uint64_t> hashes;
  for (const std::string& name : all.names) hashes.push_back(hash_of(name).high);
  listing.train = {};
  for (std::size_t first = 0, end = 0; first < all.names.size(); first = end) {
    while (end < all.names.size() && all.labels[end] == all.labels[first]) ++end;
    if (end - first < 2) {
      throw Error(ExitCode::kBadData, "class " + listing.classes[static_cast<std::size_t>(all.labels[first])] +
                                          " has one image (" + all.names[first] +
                                          "): none for training where one is held out for the test set; add a test "
                                          "folder, or images");
    }
    const auto of_class = std::ranges::subrange(hashes.begin() + static_cast<std::ptrdiff_t>(first),
                                                hashes.begin() + static_cast<std::ptrdiff_t>(end));
    const auto [least, most] = std::ranges::minmax_element(of_class);
    for (auto hash = of_class.begin(); hash != of_class.end(); ++hash) {
      const bool is_held = hash == least || (*hash < bound && hash != most);
      const auto i = static_cast<std::size_t>(hash - hashes.begin());
      ImageFiles& part = is_held ? listing.test : listing.train;
      part.names.push_back(all.names[i]);
      part.labels.push_back(all.labels[i]);
    }
  }
}

}  // namespace eave
