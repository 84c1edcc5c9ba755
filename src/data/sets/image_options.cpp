#include "data/sets/image_options.h"

#include <sched.h>

#include <algorithm>

#include "data/files/data_places.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr int kMostThreadsUnasked = 8;

}  // namespace

std::vector<OptionSpec> image_folder_options() {
  std::vector<OptionSpec> options = data_file_options();
  options.push_back({"image-size", OptionType::kInteger, "32",
                     "height and width in pixels to which images are resized, the centre of what is longer than wide"});
  options.push_back(
      {"image-test-share", OptionType::kReal, "0.2",
       "share of each class to test with, about, where there is no folder test or val; the same for all seeds"});
  options.push_back({"image-cache", OptionType::kBytes, "256MiB",
                     "memory of a rank for decoded images, so that they are not decoded again; 0: none are kept"});
  options.push_back({"on-bad-image",
                     OptionType::kText,
                     "refuse",
                     "refuse: decode all images before training, and end with a list of the damaged ones; skip: leave "
                     "damaged images out, and list them; late: check headers only, and end at the first damaged image "
                     "that is read",
                     {"refuse", "skip", "late"}});
  options.push_back({"decode-threads", OptionType::kInteger, "",
                     "threads of each rank that decode images (otherwise: as many as it may use cores, at most 8, not "
                     "divided among ranks that share them)"});
  return options;
}

std::filesystem::path image_place(const OptionValues& values) {
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
  return std::clamp(CPU_COUNT(&cores), 1, kMostThreadsUnasked);
}

}  // namespace eave
