// Tests how a comparison looks at the data of the runs that it keeps.
#include "app/compare/compare_inputs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// An RGB image of one pixel.
constexpr std::uint8_t kPng[] = {137, 80,  78,  71, 13, 10,  26,  10, 0,  0,   0,  13,  73,  72, 68,  82, 0, 0,
                                 0,   1,   0,   0,  0,  1,   8,   2,  0,  0,   0,  144, 119, 83, 222, 0,  0, 0,
                                 12,  73,  68,  65, 84, 120, 156, 99, 96, 100, 98, 6,   0,   0,  14,  0,  7, 215,
                                 111, 228, 120, 0,  0,  0,   0,   73, 69, 78,  68, 174, 66,  96, 130};

TEST(ComparedInputs, report_progress_while_they_check_images) {
  const TemporaryDirectory directory;
  for (const char* name : {"train/a", "train/b", "test/a", "test/b"}) {
    fs::create_directories(directory.path() / name);
    std::ofstream(directory.path() / name / "1.png", std::ios::binary)
        .write(reinterpret_cast<const char*>(kPng), sizeof kPng);
  }
  const char* const none[] = {nullptr};
  const OptionValues values = train_command_line().parse(
      {"--data=image-folder", "--data-dir=" + directory.path().string(), "--image-size=4", "--on-bad-image=skip"},
      none);
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    ComparedInputs inputs;
    std::atomic<int> images = 0;
    inputs.require_same(transport, {"a"}, values, nullptr, [&] { ++images; });
    EXPECT_EQ(images, 4);
    inputs.require_same(transport, {"a"}, values, nullptr, [&] { ++images; });
    EXPECT_EQ(images, 4) << "the images have not changed";
  });
}

}  // namespace
}  // namespace eave
