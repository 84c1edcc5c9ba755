#include "data/images/image_listing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <ranges>
#include <system_error>
#include <utility>

#include "base/files/file_errors.h"
#include "base/hash.h"
#include "base/options/number_text.h"
#include "base/options/spelling.h"
#include "data/files/data_directory.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected a folder for each class with .jpg, .jpeg or .png files, in train and test (or val), or without those two "
    "in the directory itself";
constexpr const char* kNoClass = "eave takes train, test and val for parts of the set; if one is a class, rename it";

// The entries of a folder of images, sorted by kind.
struct Entries {
  std::vector<std::string> folders, files;  // sorted by name; `files` are those named as JPEG or PNG images
  std::vector<std::string> others;          // named as images of another format; sorted
  // The entries of `files` that are links without a target, or links that cannot be followed.
  std::vector<std::string> broken_links;
  std::vector<std::string> foreign;  // all other entries, which are passed over; sorted
};

bool ends_as(const std::string& name, std::initializer_list<const char*> endings) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return std::ranges::find(endings, ending) != endings.end();
}

bool is_image_name(const std::string& name) { return ends_as(name, {".jpg", ".jpeg", ".jpe", ".jfif", ".png"}); }

// Whether the name is that of an image that eave cannot decode. Its owner probably wants to train on it too.
bool is_name_of_other_format(const std::string& name) {
  return ends_as(name, {".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jp2",
                        ".jxl",  ".svg", ".ppm", ".pgm", ".pbm",  ".pnm",  ".psd",  ".xcf",  ".tga",
                        ".exr",  ".dcm", ".cr2", ".cr3", ".nef",  ".arw",  ".dng",  ".orf",  ".rw2"});
}

void add_entry(Entries& entries, const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  const fs::file_status status = entry.status(error);
  const bool is_broken = error && entry.is_symlink();
  if (error && !is_broken) throw fs::filesystem_error("cannot look at", entry.path(), error);
  if (name.starts_with('.')) {
    entries.foreign.push_back(name);
  } else if (fs::is_directory(status)) {
    entries.folders.push_back(name);
  } else if (is_image_name(name)) {
    entries.files.push_back(name);
    if (is_broken) entries.broken_links.push_back(name);
  } else {
    (is_name_of_other_format(name) ? entries.others : entries.foreign).push_back(name);
  }
}

// A link counts as its target, if it can be followed. Throws std::filesystem::filesystem_error.
Entries entries_of(const fs::path& folder) {
  Entries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) add_entry(entries, entry);
  for (auto* names : {&entries.folders, &entries.files, &entries.others, &entries.broken_links, &entries.foreign})
    std::ranges::sort(*names);
  return entries;
}

void pass_over(const std::string& part, const std::vector<std::string>& names, PassedOver& passed) {
  passed.count += static_cast<std::int64_t>(names.size());
  for (const std::string& name : names) {
    if (passed.first.size() < PassedOver::kMostNamed) passed.first.push_back(part + name);
  }
}

// Returns the class folders. Other entries may be beside them, but an image without a class folder is an error.
std::vector<std::string> classes_in(const fs::path& place, const std::string& part, ImageListing& listing) {
  Entries entries = entries_of(place / part);
  if (!entries.files.empty()) {
    throw Error(ExitCode::kBadData, (place / part / entries.files.front()).string() + " stands in no class folder; " +
                                        (part.empty() ? "" : std::string(kNoClass) + "; ") + kExpected);
  }
  pass_over(part, entries.foreign, listing.passed_over);
  pass_over(part, entries.others, listing.passed_over);
  return std::move(entries.folders);
}

std::string describe_broken_link(const fs::path& link) {
  std::error_code error;
  const bool is_missing = fs::status(link, error).type() == fs::file_type::not_found;
  if (is_missing) return link.string() + " is a link to a file that is not there";
  if (error == std::errc::too_many_symbolic_link_levels) return link.string() + " is a loop of links";
  return link.string() + " is a link that cannot be followed: " + error.message();
}

void note_bad(const fs::path& place, const std::string& part, const Entries& entries, ImageListing& listing) {
  for (const std::string& name : entries.broken_links)
    listing.bad.push_back({part + name, describe_broken_link(place / (part + name))});
  for (const std::string& name : entries.others) {
    listing.bad.push_back({part + name, (place / (part + name)).string() + " is no .jpg, .jpeg or .png file but, by " +
                                            "its name, an image of another format: convert it to JPEG or PNG"});
  }
}

void append_class(const fs::path& place, const std::string& folder, std::int32_t label, ImageFiles& images,
                  ImageListing& listing) {
  const Entries entries = entries_of(place / folder);
  if (!entries.folders.empty()) {
    throw Error(
        ExitCode::kBadData,
        (place / folder / entries.folders.front()).string() +
            " is a folder inside a class folder, where only images may be. Class folders belong into folders named "
            "train and test (or val), or directly into --data-dir: rename the folders, or move this one");
  }
  if (entries.files.empty() && entries.others.empty()) {
    throw Error(ExitCode::kBadData,
                (place / folder).string() + " holds no images" +
                    (entries.foreign.empty() ? "" : ", but " + entries.foreign.front() + " and the like") +
                    "; remove the folder of a class that has none");
  }
  note_bad(place, folder + "/", entries, listing);
  pass_over(folder + "/", entries.foreign, listing.passed_over);
  for (const std::string& name : entries.files) {
    if (std::ranges::binary_search(entries.broken_links, name)) continue;
    images.names.push_back(folder + "/" + name);
    images.labels.push_back(label);
  }
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

[[noreturn]] void refuse_class(const fs::path& place, const std::string& part, const std::string& folder,
                               const std::vector<std::string>& classes) {
  const auto alike =
      std::ranges::find_if(classes, [&](const std::string& name) { return lower(name) == lower(folder); });
  throw Error(ExitCode::kBadData,
              (place / (part + folder)).string() + " is of a class that is not in " + (place / "train").string() +
                  (alike == classes.end()
                       ? "; add its images there, or remove it"
                       : ", which has " + *alike + ": spell both alike; add its images there, or remove it"));
}

// `part` is the folder of the set, such as "train/"; "" if the class folders are in `place` itself.
ImageFiles images_of(const fs::path& place, const std::string& part, const std::vector<std::string>& folders,
                     ImageListing& listing) {
  ImageFiles images;
  for (const std::string& folder : folders) {
    const auto found = std::ranges::lower_bound(listing.classes, folder);
    if (found == listing.classes.end() || *found != folder) refuse_class(place, part, folder, listing.classes);
    append_class(place, part + folder, static_cast<std::int32_t>(found - listing.classes.begin()), images, listing);
  }
  return images;
}

// For a set with a folder `train`: the folders beside it from which no set is read.
std::vector<std::string> folders_beside_train(const fs::path& place, const ImageListing& listing) {
  std::vector<std::string> folders = entries_of(place).folders;
  std::erase_if(folders, [&](const std::string& name) {
    return name == "train" || name == listing.test_folder || name == listing.unlabelled ||
           (listing.test_folder.empty() && (name == "test" || name == "val"));
  });
  return folders;
}

enum class Part { kAbsent, kEmpty, kUnlabelled, kLabelled };

Part state_of(const fs::path& folder, const std::vector<std::string>& classes) {
  if (!fs::is_directory(folder)) return Part::kAbsent;
  const Entries entries = entries_of(folder);
  const auto is_class = [&](const std::string& name) { return std::ranges::binary_search(classes, name); };
  if (std::ranges::any_of(entries.folders, is_class)) return Part::kLabelled;
  return entries.folders.empty() && entries.files.empty() ? Part::kEmpty : Part::kUnlabelled;
}

// Returns "test"; "val" if nothing in test has a label; "" if neither has class folders.
std::string find_test_folder(const fs::path& place, ImageListing& listing) {
  const Part test = state_of(place / "test", listing.classes), val = state_of(place / "val", listing.classes);
  if (test == Part::kLabelled) return "test";
  if (val != Part::kLabelled) {
    // Folders with names of no class are probably misspelt. Choosing this part makes a message name them.
    if (test == Part::kUnlabelled && !entries_of(place / "test").folders.empty()) return "test";
    if (val == Part::kUnlabelled) return "val";
  }
  if (test == Part::kUnlabelled) listing.unlabelled = "test";
  return val == Part::kLabelled ? "val" : "";
}

std::string list_of_classes(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  if (names.size() <= kMost) return comma_list(names);
  return comma_list({names.begin(), names.begin() + kMost}) + " and " + std::to_string(names.size() - kMost) + " more";
}

void warn_of_classes(ImageListing& listing) {
  std::vector<std::string> untested;
  for (std::size_t i = 0; i < listing.classes.size() && !listing.test_folder.empty(); ++i) {
    if (!std::ranges::binary_search(listing.test.labels, static_cast<std::int32_t>(i)))
      untested.push_back(listing.classes[i]);
  }
  if (!untested.empty()) {
    listing.warnings.push_back(listing.test_folder + "/ has no images of " + std::to_string(untested.size()) + " of " +
                               std::to_string(listing.classes.size()) + " classes: " + list_of_classes(untested));
  }
  std::map<std::string, std::string> seen;
  for (const std::string& name : listing.classes) {
    const auto [first, is_new] = seen.try_emplace(lower(name), name);
    if (!is_new) listing.warnings.push_back("the classes " + first->second + " and " + name + " differ in case only");
  }
}

void require_train(const fs::path& place) {
  for (const char* folder : {"test", "val"}) {
    if (!fs::is_directory(place / folder)) continue;
    throw Error(ExitCode::kInputMissing, "no files of image-folder in " + (place / "train").string() +
                                             ", but there is " + (place / folder).string() + "; " + kNoClass + "; " +
                                             kExpected);
  }
}

ImageListing list(const fs::path& place) {
  const bool has_train = fs::is_directory(place / "train");
  const std::string part = has_train ? "train/" : "";
  ImageListing listing;
  listing.classes = classes_in(place, part, listing);
  if (!has_train) require_train(place);
  if (has_train && !listing.classes.empty()) listing.test_folder = find_test_folder(place, listing);
  if (!listing.test_folder.empty()) {
    const std::string test = listing.test_folder + "/";
    listing.test = images_of(place, test, classes_in(place, test, listing), listing);
  }
  if (listing.classes.size() < 2) {
    throw Error(ExitCode::kInputMissing, "no files of image-folder in " + (place / part).string() + ": it holds " +
                                             count_text(listing.classes.size(), "class folder") +
                                             ", expected at least 2; " + kExpected);
  }
  if (has_train) listing.unused = folders_beside_train(place, listing);
  listing.train = images_of(place, part, listing.classes, listing);
  warn_of_classes(listing);
  return listing;
}

}  // namespace

ImageListing list_images(const fs::path& folder) {
  try {
    if (fs::is_directory(folder)) return list(folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kInputMissing, "--data-dir cannot be looked through: " + describe_filesystem_error(error));
  }
  throw Error(ExitCode::kInputMissing,
              describe_no_directory(folder) + " for image-folder; " + kExpected + ", and its name as --data-dir");
}

std::int64_t count_images(const ImageListing& listing) {
  return static_cast<std::int64_t>(listing.train.names.size() + listing.test.names.size() + listing.bad.size());
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
