#include "data/images/bad_images.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/printable.h"
#include "data/files/byte_source.h"
#include "data/images/image_file.h"
#include "data/loading/thread_pool.h"
#include "data/sets/image_folder.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Removes the advice: the list of bad images gives it once.
std::string without_advice(std::string message) {
  const std::string advice = std::string("; ") + kImageAdvice;
  if (message.ends_with(advice)) message.resize(message.size() - advice.size());
  return message;
}

// Returns what is wrong with the file; "" if it is whole.
std::string damage_in(const fs::path& file, int side, std::span<std::uint8_t> pixels) {
  try {
    read_image_square(FileSource(file), side, pixels);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kBadData) throw;
    return without_advice(error.what());
  }
  return "";
}

std::vector<std::string> names_in(const ImageListing& listing, int part, int parts) {
  std::vector<std::string> names;
  std::int64_t place = 0;
  for (const ImageFiles* each : {&listing.train, &listing.test}) {
    for (const std::string& name : each->names) {
      if (place++ % parts == part) names.push_back(name);
    }
  }
  return names;
}

void erase_from(ImageFiles& part, const std::set<std::string>& names) {
  ImageFiles kept;
  for (std::size_t i = 0; i < part.names.size(); ++i) {
    if (names.contains(part.names[i])) continue;
    kept.names.push_back(std::move(part.names[i]));
    kept.labels.push_back(part.labels[i]);
  }
  part = std::move(kept);
}

}  // namespace

SampleCheck check_images(const OptionValues& values, int part, int parts, const std::function<void()>& moved) {
  const fs::path place = image_directory(values);
  const int side = image_side(values);
  ImageListing listing = list_images(place);
  SampleCheck check{count_images(listing), std::move(listing.bad)};
  const std::vector<std::string> names = names_in(listing, part, parts);
  std::vector<std::string> damage(names.size());
  ThreadPool pool(image_threads(values));
  std::vector<std::vector<std::uint8_t>> pixels(static_cast<std::size_t>(pool.size()));
  for (auto& each : pixels) each.resize(static_cast<std::size_t>(side * side * 3));
  pool.parallel_for(std::ssize(names), [&](std::int64_t index, int thread) {
    const auto i = static_cast<std::size_t>(index);
    damage[i] = damage_in(place / names[i], side, pixels[static_cast<std::size_t>(thread)]);
    moved();
  });
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!damage[i].empty()) check.bad.push_back({names[i], damage[i]});
  }
  return check;
}

// Uses the time of change: programs can set the time of modification back, but not that of change.
std::string image_fingerprint(const OptionValues& values) {
  const fs::path place = image_directory(values);
  const ImageListing listing = list_images(place);
  Hasher hasher;
  const auto add = [&](const std::string& name) {
    struct stat status {};
    if (::stat((place / name).c_str(), &status) != 0) status = {};
    const std::array<std::int64_t, 5> numbers = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                                                 status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
    hasher.add(name + '\0');
    hasher.add({reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
  };
  for (const ImageFiles* part : {&listing.train, &listing.test}) std::ranges::for_each(part->names, add);
  for (const BadSample& bad : listing.bad) add(bad.name);
  return hasher.hash().text();
}

std::vector<std::string> list_bad_samples(const std::vector<BadSample>& bad, std::int64_t of, const std::string& advice,
                                          std::size_t most_named) {
  std::vector<std::string> lines = {std::to_string(bad.size()) + " of " + std::to_string(of) +
                                    (of == 1 ? " image" : " images") + " cannot be used: " + advice};
  for (std::size_t i = 0; i < std::min(bad.size(), most_named); ++i) lines.push_back("  " + bad[i].message);
  if (bad.size() > most_named) lines.push_back("  and " + std::to_string(bad.size() - most_named) + " more");
  return lines;
}

void refuse_bad_samples(const std::vector<BadSample>& bad, std::int64_t of) {
  if (bad.empty()) return;
  throw LinesError(ExitCode::kBadData, list_bad_samples(bad, of,
                                                        "get or make them again, remove them, or give --on-bad-image "
                                                        "skip, which leaves them out"));
}

void leave_out(ImageListing& listing, const std::vector<BadSample>& files) {
  std::set<std::string> names;
  for (const BadSample& bad : files) names.insert(bad.name);
  for (const BadSample& bad : listing.bad) names.insert(bad.name);
  listing.bad.clear();
  if (names.empty()) return;
  erase_from(listing.train, names);
  erase_from(listing.test, names);
  for (std::size_t i = 0; i < listing.classes.size(); ++i) {
    if (std::ranges::binary_search(listing.train.labels, static_cast<std::int32_t>(i))) continue;
    throw Error(ExitCode::kBadData, "no image of class " + listing.classes[i] +
                                        " is left to train on when those that cannot be used are left out; get or "
                                        "make them again, or remove the class");
  }
  if (listing.test_folder.empty() || !listing.test.names.empty()) return;
  throw Error(ExitCode::kBadData, "no image of " + listing.test_folder +
                                      "/ is left when those that cannot be used are left out; get or make them again");
}

}  // namespace eave
