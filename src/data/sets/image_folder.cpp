// The dataset image-folder: JPEG and PNG files of the user's own, in a folder for each class.
#include "data/sets/image_folder.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "data/files/byte_source.h"
#include "data/files/data_directory.h"
#include "data/images/bad_images.h"
#include "data/images/image_file.h"
#include "data/images/image_listing.h"
#include "data/loading/staging.h"
#include "data/loading/thread_pool.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr int kMostThreadsByDefault = 8;

// A cache of decoded images. Keeps the first images of a set, as many as there is room for. The system gives the memory
// as images arrive.
class DecodedImages {
 public:
  DecodedImages(std::int64_t images, std::int64_t bytes_of_each, std::int64_t most_bytes)
      : count_(std::clamp<std::int64_t>(most_bytes / bytes_of_each, 0, images)),
        size_(static_cast<std::size_t>(bytes_of_each)),
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(count_) * size_)),
        states_(std::make_unique<std::atomic<State>[]>(static_cast<std::size_t>(count_))) {}
  std::int64_t bytes() const { return count_ * static_cast<std::int64_t>(size_); }

  bool find(std::int64_t index, std::span<std::uint8_t> pixels) const {
    if (index >= count_ || states_[static_cast<std::size_t>(index)].load(std::memory_order_acquire) != kThere)
      return false;
    std::copy_n(bytes_.get() + static_cast<std::size_t>(index) * size_, size_, pixels.begin());
    return true;
  }
  // If several threads bring the same image, one of them keeps it.
  void keep(std::int64_t index, std::span<const std::uint8_t> pixels) {
    if (index >= count_) return;
    std::atomic<State>& state = states_[static_cast<std::size_t>(index)];
    State absent = kAbsent;
    if (!state.compare_exchange_strong(absent, kComing)) return;
    std::copy_n(pixels.begin(), size_, bytes_.get() + static_cast<std::size_t>(index) * size_);
    state.store(kThere, std::memory_order_release);
  }

 private:
  enum State : std::uint8_t { kAbsent, kComing, kThere };
  std::int64_t count_;
  std::size_t size_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::unique_ptr<std::atomic<State>[]> states_;
};

// Decodes an image when it is read, and again on each later read if there is no room to keep it.
class ImageFolder final : public Dataset {
 public:
  ImageFolder(fs::path place, ImageFiles files, int classes, int side, std::int64_t most_bytes)
      : place_(std::move(place)),
        files_(std::move(files)),
        classes_(classes),
        side_(side),
        decoded_(std::make_unique<DecodedImages>(size(), shape().size(), most_bytes)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.names.size()); }
  ImageShape shape() const override { return {side_, side_, 3}; }
  int classes() const override { return classes_; }
  std::int32_t label(std::int64_t index) const override { return files_.labels[static_cast<std::size_t>(index)]; }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    const auto square = pixels.first(static_cast<std::size_t>(shape().size()));
    if (decoded_->find(index, square)) return;
    read_image_square(file(index), side_, square);
    decoded_->keep(index, square);
  }
  std::int64_t most_bytes_kept() const { return decoded_->bytes(); }
  FileSource file(std::int64_t index) const {
    return FileSource(place_ / files_.names[static_cast<std::size_t>(index)]);
  }

 private:
  const fs::path place_;
  const ImageFiles files_;
  const int classes_;
  const int side_;
  const std::unique_ptr<DecodedImages> decoded_;
};

void refuse_useless_test(const fs::path& place, const ImageListing& listing) {
  if (!listing.unlabelled.empty()) {
    throw Error(ExitCode::kUsage, (place / listing.unlabelled).string() +
                                      " has images, but none in a folder of a class, so nothing can be tested with "
                                      "it, and there is no val with class folders: sort its images into class "
                                      "folders, or give --image-test-share 0.2 to test with a part of train");
  }
  if (listing.unused.empty()) return;
  throw Error(ExitCode::kUsage, (place / listing.unused.front()).string() +
                                    " stands beside train and is neither test nor val: rename it if test images "
                                    "are in it, or give --image-test-share 0.2 to test with a part of train");
}

// If there is no test set, holds one out of the training set.
void complete_parts(const fs::path& place, const OptionValues& values, ImageListing& listing) {
  const double share = values.real("image-test-share");
  if (!(share > 0 && share < 1)) {
    throw Error(ExitCode::kUsage,
                "--image-test-share " + number_text(share) + ": expected a share above 0 and below 1, such as 0.2");
  }
  if (listing.test_folder.empty()) {
    if (!values.given("image-test-share")) refuse_useless_test(place, listing);
    hold_out_images(listing, share);
  } else if (values.given("image-test-share")) {
    throw Error(ExitCode::kUsage, "--image-test-share has no effect: the test set is in " +
                                      (place / listing.test_folder).string() + "; leave out one of the two");
  }
}

std::string identity_of_names(const ImageListing& listing) {
  Hasher hasher;
  for (const ImageFiles* part : {&listing.train, &listing.test}) {
    for (const std::string& name : part->names) hasher.add(name + '\0');
  }
  return hasher.hash().text();
}

std::string describe_test(const ImageListing& listing, const OptionValues& values) {
  std::string text = "test images ";
  text += listing.test_folder.empty()
              ? "held out of each class by --image-test-share " + values.text("image-test-share")
              : "from " + listing.test_folder + "/";
  for (std::size_t i = 0; i < listing.unused.size(); ++i)
    text += (i == 0 ? "; not used: " : ", ") + listing.unused[i] + "/";
  if (!listing.unlabelled.empty())
    text += "; not used: " + listing.unlabelled + "/, whose images stand in no class folder";
  // So that images with unusual names are not missed silently.
  const std::string passed_over = describe_entries(listing.passed_over, "JPEG or PNG");
  return text + (passed_over.empty() ? "" : "; passed over: " + passed_over);
}

fs::path stage(const fs::path& place, const ImageListing& listing, const OptionValues& values) {
  if (!values.has("stage-to")) return place;
  std::vector<std::string> names = listing.train.names;
  names.insert(names.end(), listing.test.names.begin(), listing.test.names.end());
  return stage_files(place, names, values.text("stage-to"));
}

DataSplit open_listing(const OptionValues& values, ImageListing listing) {
  const fs::path original = image_directory(values);
  const int side = image_side(values);
  complete_parts(original, values, listing);
  DataSplit split;
  split.class_names = listing.classes;
  split.note = describe_test(listing, values);
  split.warnings = listing.warnings;
  split.identity = identity_of_names(listing);
  const fs::path place = stage(original, listing, values);
  const auto classes = static_cast<int>(listing.classes.size());
  const std::int64_t room = values.bytes("image-cache");
  auto train = std::make_unique<ImageFolder>(place, std::move(listing.train), classes, side, room);
  auto test =
      std::make_unique<ImageFolder>(place, std::move(listing.test), classes, side, room - train->most_bytes_kept());
  split.reading_threads = image_threads(values);
  ThreadPool pool(split.reading_threads);
  for (const ImageFolder* part : {train.get(), test.get()}) {
    pool.parallel_for(part->size(), [&](std::int64_t index, int) { check_image_header(part->file(index)); });
  }
  split.train = std::move(train);
  split.test = std::move(test);
  // ImageNet's mean and deviation, as torchvision's models use them.
  split.mean = {0.485F, 0.456F, 0.406F};
  split.deviation = {0.229F, 0.224F, 0.225F};
  return split;
}

DataSplit open_image_folder(const OptionValues& values) {
  ImageListing listing = list_images(image_directory(values));
  refuse_bad_samples(listing.bad, count_images(listing));
  return open_listing(values, std::move(listing));
}

DataSplit open_without(const OptionValues& values, const std::vector<BadSample>& left_out) {
  ImageListing listing = list_images(image_directory(values));
  leave_out(listing, left_out);
  return open_listing(values, std::move(listing));
}

std::vector<OptionSpec> image_folder_options() {
  std::vector<OptionSpec> options = data_file_options();
  options.push_back({"image-size", OptionType::kInteger, "32",
                     "height and width in pixels to which the centred square of each image is resized"});
  options.push_back({"image-test-share", OptionType::kReal, "0.2",
                     "approximate share of each class to hold out for tests if there is no folder test or val; the "
                     "same for all seeds"});
  options.push_back({"image-cache", OptionType::kBytes, "256MiB",
                     "memory per rank for keeping decoded images, so that they are not decoded again; 0: keep none"});
  options.push_back(
      {"on-bad-image",
       OptionType::kText,
       "refuse",
       "refuse: decode all images before training, and end with a list of damaged ones; skip: leave damaged images "
       "out, and list them; late: check headers only, and end at the first damaged image that training reads",
       {"refuse", "skip", "late"}});
  options.push_back({"decode-threads", OptionType::kInteger, "",
                     "threads per rank that decode images (default: one per core that the rank may use, at most 8, "
                     "even if ranks share these cores)"});
  return options;
}

constexpr SampleFiles kImageFiles = {check_images, image_fingerprint, open_without};

}  // namespace

std::filesystem::path image_directory(const OptionValues& values) {
  if (values.has("data-dir")) return values.text("data-dir");
  throw Error(ExitCode::kInputMissing,
              "--data image-folder has no usual place; name the directory of its images with --data-dir");
}

int image_side(const OptionValues& values) { return static_cast<int>(values.integer("image-size", 1, 1024)); }

int image_threads(const OptionValues& values) {
  if (values.has("decode-threads")) return static_cast<int>(values.integer("decode-threads", 1, 256));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::clamp(CPU_COUNT(&cores), 1, kMostThreadsByDefault);
}

DatasetKind describe_dataset_image_folder() {
  return {"image-folder", "JPEG and PNG files of your own in --data-dir: train/CLASS/*, test/CLASS/*, or CLASS/*",
          image_folder_options(), open_image_folder, &kImageFiles};
}

}  // namespace eave
