// Images of a folder that cannot be used: which ones are named, and when.
#include <fstream>
#include <set>

#include "test/data/image_folders.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

SampleCheck check_of(const fs::path& place, int part, int parts) {
  const DatasetKind& kind = find_kind(dataset_kinds(), "image-folder");
  return kind.files->check(options_of(kind, {{"data-dir", place.string()}}), part, parts, [] {});
}

// Makes five images unusable and returns their names: a file cut in half, one with a flipped bit, a file that is no
// image, a dangling link, and a name with the ending of another format.
std::set<std::string> spoil(const fs::path& place) {
  const fs::path cut = place / "train/ship/image2.jpg", turned = place / "test/cat/image1.PNG";
  fs::resize_file(cut, fs::file_size(cut) / 2);
  Bytes bytes;
  std::ifstream file(turned, std::ios::binary);
  for (int letter = file.get(); letter >= 0; letter = file.get()) bytes.push_back(static_cast<std::uint8_t>(letter));
  write_bytes(turned, with(bytes, bytes.size() / 2, bytes[bytes.size() / 2] ^ 1));
  write_bytes(place / "train/cat/image0.jpg", {'<', 'h', 't', 'm', 'l', '>'});
  fs::create_symlink(place / "gone.png", place / "train/cat/link.png");
  write_bytes(place / "train/bird/new.webp", {'R'});
  return {"train/ship/image2.jpg", "test/cat/image1.PNG", "train/cat/image0.jpg", "train/cat/link.png",
          "train/bird/new.webp"};
}

TEST_F(ImageFolders, name_every_image_that_cannot_be_used_however_the_work_is_shared) {
  write_image_folder(place());
  EXPECT_EQ(check_of(place(), 0, 1).bad.size(), 0u);
  const std::set<std::string> expected = spoil(place());
  for (const int parts : {1, 2, 7}) {
    std::set<std::string> found;
    for (int part = 0; part < parts; ++part) {
      const SampleCheck check = check_of(place(), part, parts);
      EXPECT_EQ(check.looked_at, 50);
      for (const BadSample& bad : check.bad) {
        found.insert(bad.name);
        EXPECT_NE(bad.message.find((place() / bad.name).string()), std::string::npos) << bad.message;
      }
    }
    EXPECT_EQ(found, expected) << parts;
  }
}

// Skipping bad images gives the same identity, numbering and parts as removing the files, also if a share is held out.
TEST_F(ImageFolders, without_bad_images_are_those_that_are_left_when_the_files_are_removed) {
  write_image_folder(place());
  spoil(place());
  const DatasetKind& kind = find_kind(dataset_kinds(), "image-folder");
  for (const bool holds_out : {false, true}) {
    if (holds_out) fs::remove_all(place() / "test");
    const OptionValues values = options_of(kind, {{"data-dir", place().string()}});
    const SampleCheck check = check_of(place(), 0, 1);
    DataSplit skipped = kind.files->open_without(values, check.bad);
    const auto train = images_in(*skipped.train), test = images_in(*skipped.test);
    hash_identity(skipped);
    if (!holds_out) continue;
    for (const BadSample& bad : check.bad) fs::remove(place() / bad.name);
    DataSplit removed = open();
    EXPECT_EQ(images_in(*removed.train), train);
    EXPECT_EQ(images_in(*removed.test), test);
    hash_identity(removed);
    EXPECT_EQ(removed.identity, skipped.identity);
  }
}

TEST_F(ImageFolders, of_which_a_class_has_no_whole_image_are_refused) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "test/a/3.png"}) add(name);
  write_bytes(place() / "train/b/2.png", {'x'});
  const DatasetKind& kind = find_kind(dataset_kinds(), "image-folder");
  const OptionValues values = options_of(kind, {{"data-dir", place().string()}});
  expect_refusal(refusal_of([&] { kind.files->open_without(values, check_of(place(), 0, 1).bad); }), ExitCode::kBadData,
                 {"no image of class b is left to train on"});
}

TEST_F(ImageFolders, have_another_fingerprint_after_any_change_of_a_file) {
  write_image_folder(place());
  const DatasetKind& kind = find_kind(dataset_kinds(), "image-folder");
  const OptionValues values = options_of(kind, {{"data-dir", place().string()}});
  const std::string before = kind.files->fingerprint(values);
  EXPECT_EQ(kind.files->fingerprint(values), before);
  const fs::path file = place() / "train/cat/image0.jpg";
  const auto time = fs::last_write_time(file);
  const auto size = fs::file_size(file);
  write_bytes(file, Bytes(size, 7));
  fs::last_write_time(file, time);
  EXPECT_NE(kind.files->fingerprint(values), before) << "the size and the time of modification are the same";
}

TEST_F(ImageFolders, look_at_every_header_and_name_the_first_bad_file) {
  write_image_folder(place());
  for (const char* name : {"test/ship/image0.jpg", "train/cat/image3.PNG", "train/cat/image4.jpg"}) {
    write_bytes(place() / name, {'n', 'o', 'n', 'e'});
  }
  for (const char* threads : {"1", "4"}) {
    expect_refusal(refusal({{"decode-threads", threads}}), ExitCode::kBadData,
                   {(place() / "train/cat/image3.PNG").string()});
  }
}

TEST_F(ImageFolders, whose_files_end_too_early_say_so_when_those_are_read) {
  write_image_folder(place());
  const fs::path file = place() / "train/ship/image2.jpg";
  fs::resize_file(file, fs::file_size(file) / 2);
  const DataSplit split = open({{"decode-threads", "3"}});  // opening reads only headers, and this one is whole
  expect_refusal(refusal_of([&] { floats_of(split); }), ExitCode::kBadData, {file.string(), "truncated"});
  fs::remove(file);
  EXPECT_TRUE(refusal_of([&] { floats_of(split); }).names(file.string()));
}

}  // namespace
}  // namespace eave
