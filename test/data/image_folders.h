// The fixture of tests of the dataset "image-folder": makes folders of images and reads them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eave/loader.h"
#include "test/data/image_writers.h"

namespace eave {

inline Bytes flat_png(std::uint8_t value) { return png_of({4, 4, 3, Bytes(48, value)}); }

using GivenOptions = std::map<std::string, std::string>;

class ImageFolders : public testing::Test {
 protected:
  const std::filesystem::path& place() const { return directory_.path(); }
  // Adds an image. `name` is its path within the folder. Each image has another colour.
  void add(const std::string& name) {
    std::filesystem::create_directories((place() / name).parent_path());
    write_bytes(place() / name, flat_png(++colours_[name] + static_cast<std::uint8_t>(10 * colours_.size())));
  }
  DataSplit open(GivenOptions given = {}) const {
    given["data-dir"] = place().string();
    return open_dataset("image-folder", given);
  }
  Refusal refusal(const GivenOptions& given = {}) const {
    return refusal_of([&] { open(given); });
  }

  std::map<std::string, std::uint8_t> colours_;
  TemporaryDirectory directory_;
};

// The pairs (label, pixel value) of all images in a dataset whose images have a single colour.
inline std::multiset<std::pair<int, int>> images_in(const Dataset& dataset) {
  std::multiset<std::pair<int, int>> images;
  for (std::int64_t i = 0; i < dataset.size(); ++i) images.insert({dataset.label(i), pixels_of(dataset, i)[0]});
  return images;
}

// The augmented inputs of one epoch.
inline std::vector<float> floats_of(const DataSplit& split) {
  Sampler sampler(Sampling::kShard, split.train->size(), 1, 7, 3, {});
  Loader::Settings settings;
  settings.augmentation = {2, 12, 12, true};
  settings.last_step = sampler.steps_per_epoch();
  Loader loader(split, sampler, settings);
  std::vector<float> all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const ConstSlice inputs = loader.next().inputs;
    all.insert(all.end(), inputs.begin(), inputs.end());
  }
  return all;
}

}  // namespace eave
