// The dataset "image-folder": which images it finds in a folder, and which labels they get.
#include <algorithm>

#include "test/data/image_folders.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Options = std::map<std::string, std::string>;

TEST_F(ImageFolders, give_classes_in_the_order_of_their_names) {
  for (const char* name :
       {"train/b/1.png", "train/a/2.png", "train/C/3.png", "train/b/4.png", "test/b/5.png", "test/a/6.png"})
    add(name);
  const DataSplit split = open({{"image-size", "5"}});
  EXPECT_EQ(split.train->shape(), (ImageShape{5, 5, 3}));
  EXPECT_EQ(split.train->classes(), 3);
  EXPECT_EQ(images_in(*split.train), (std::multiset<std::pair<int, int>>{{2, 11}, {1, 21}, {0, 31}, {2, 41}}));
  EXPECT_EQ(images_in(*split.test), (std::multiset<std::pair<int, int>>{{2, 51}, {1, 61}}));
  EXPECT_EQ(split.mean, (std::vector<float>{0.485F, 0.456F, 0.406F}));
}

TEST_F(ImageFolders, take_val_where_there_is_no_test) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/3.png"}) add(name);
  EXPECT_EQ(images_in(*open().test), (std::multiset<std::pair<int, int>>{{0, 31}}));
  fs::create_directories(place() / "test");  // without class folders, like ImageNet's test/
  EXPECT_EQ(open().test->size(), 1);
  add("test/b/4.png");
  EXPECT_EQ(images_in(*open().test), (std::multiset<std::pair<int, int>>{{1, 41}}));
}

TEST_F(ImageFolders, without_a_test_folder_hold_out_the_same_share_of_each_class) {
  for (int i = 0; i < 10; ++i) {
    add("cat/" + std::to_string(i) + ".png");
    if (i < 3) add("dog/" + std::to_string(i) + ".png");
  }
  for (const char* share : {"0.001", "0.2", "0.5", "0.999"}) {
    const DataSplit split = open({{"image-test-share", share}});
    const auto test = images_in(*split.test), train = images_in(*split.train);
    for (const auto& part : {test, train}) {
      EXPECT_GE(std::ranges::count(part, 0, &std::pair<int, int>::first), 1) << share;
      EXPECT_GE(std::ranges::count(part, 1, &std::pair<int, int>::first), 1) << share;
    }
    std::multiset<std::pair<int, int>> all = train;
    all.insert(test.begin(), test.end());
    EXPECT_EQ(all.size(), 13u);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 13u) << "each in one part";
    EXPECT_EQ(images_in(*open({{"image-test-share", share}}).test), test);
  }
  EXPECT_EQ(open({{"image-test-share", "0.001"}}).test->size(), 2) << "one of each class";
  EXPECT_EQ(open({{"image-test-share", "0.999"}}).train->size(), 2) << "one of each class";
}

TEST_F(ImageFolders, with_a_class_called_like_a_part_of_the_set_are_refused_with_the_cause) {
  const std::string cause = "eave takes train, test and val for parts of the set; if one is a class, rename it";
  for (const char* name : {"bus/1.png", "bus/2.png", "val/3.png", "val/4.png"}) add(name);
  expect_refusal(refusal(), ExitCode::kInputMissing, {"but there is " + (place() / "val").string(), cause});
  fs::rename(place() / "val", place() / "train");
  expect_refusal(refusal(), ExitCode::kBadData, {"train/3.png stands in no class folder", cause});
}

TEST_F(ImageFolders, that_hold_something_else_are_refused_by_its_name) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "test/a/3.png", "train/a/.hidden", ".trash/b/1.png"})
    add(name);
  write_bytes(place() / "LICENSE.txt", {'x'});
  write_bytes(place() / "train/a/notes.txt", {'x'});
  EXPECT_EQ(refusal().code, ExitCode::kDone) << refusal();
  const auto refuses = [&](const std::string& name, const std::string& why) {
    add(name);
    expect_refusal(refusal(), ExitCode::kBadData, {(place() / name).string(), why});
    fs::remove(place() / name);
  };
  refuses("test/a/scan.tiff", "no .jpg, .jpeg or .png");
  refuses("train/b/photo.HEIC", "convert it to JPEG or PNG");
  refuses("train/loose.jpeg", "stands in no class folder");
  const auto refuses_folder = [&](const std::string& folder, const std::vector<std::string>& words) {
    fs::create_directories(place() / folder);
    expect_refusal(refusal(), ExitCode::kBadData, words);
    fs::remove(place() / folder);
  };
  refuses_folder("train/b/more", {"train/b/more is a folder inside a class folder"});
  refuses_folder("train/c", {"train/c holds no images"});
  refuses_folder("test/z", {"test/z is of a class that is not in", "remove it"});
  fs::create_symlink(place() / "gone.png", place() / "train/b/4.png");
  expect_refusal(refusal(), ExitCode::kBadData, {"train/b/4.png is a link to a file that is not there"});
  fs::remove(place() / "train/b/4.png");
  fs::create_symlink("loop.png", place() / "train/b/loop.png");
  EXPECT_TRUE(refusal().names("train/b/loop.png is a loop of links")) << refusal();
}

TEST_F(ImageFolders, name_what_they_pass_over) {
  for (const char* name : {"train/a/1.png", "train/b/2.JPE", "train/b/3.jfif", "test/a/4.PNG", "test/b/5.JPEG"})
    add(name);
  EXPECT_EQ(open().note, "test images from test/");
  EXPECT_EQ(open().train->size() + open().test->size(), 5);
  for (const char* name : {"train/a/Thumbs.db", "train/a/.DS_Store", "train/b/desktop.ini", "test/a/notes.txt",
                           "train/README", "train/.ipynb_checkpoints/1.png"})
    add(name);
  EXPECT_EQ(open().train->size() + open().test->size(), 5);
  EXPECT_EQ(open().note,
            "test images from test/; passed over: 6 entries that are no JPEG or PNG (train/.ipynb_checkpoints, "
            "train/README, test/a/notes.txt, train/a/.DS_Store and 2 more)");
}

TEST_F(ImageFolders, take_names_with_blanks_and_of_any_alphabet_and_links) {
  for (const char* name : {"train/Hund \xc3\xa4/1.png", "train/it's/2.png", "test/it's/3 4.png", "kept/a/5.png"})
    add(name);
  fs::create_directory_symlink(place() / "kept/a", place() / "train/linked");
  fs::create_symlink(place() / "kept/a/5.png", place() / "train/it's/6.png");
  const DataSplit split = open();
  EXPECT_EQ(split.class_names, (std::vector<std::string>{"Hund \xc3\xa4", "it's", "linked"}));
  EXPECT_EQ(split.train->size(), 4);
}

TEST_F(ImageFolders, take_val_where_nothing_in_test_has_a_label) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/3.png", "val/b/4.png", "test/5.png"}) add(name);
  EXPECT_EQ(images_in(*open().test), (std::multiset<std::pair<int, int>>{{0, 31}, {1, 41}}));
  EXPECT_EQ(open().note, "test images from val/; not used: test/, whose images stand in no class folder");
  fs::remove(place() / "test/5.png");
  add("test/unknown/5.png");  // people make such a folder for torchvision
  EXPECT_EQ(open().note, "test images from val/; not used: test/, whose images stand in no class folder");
  fs::remove_all(place() / "test");
  fs::remove_all(place() / "val");
  add("test/5.png");
  expect_refusal(refusal(), ExitCode::kUsage,
                 {"test has images, but none in a folder of a class", "--image-test-share 0.2"});
  add("train/a/6.png");
  add("train/b/7.png");
  EXPECT_EQ(open({{"image-test-share", "0.5"}}).test->size(), 2);
}

TEST_F(ImageFolders, tell_how_classes_of_their_parts_differ) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "train/c/3.png", "test/a/4.png"}) add(name);
  EXPECT_EQ(open().warnings, (std::vector<std::string>{"test/ has no images of 2 of 3 classes: b, c"}));
  add("test/B/5.png");
  EXPECT_TRUE(refusal().names("test/B is of a class that is not in") &&
              refusal().names("which has b: spell both alike"))
      << refusal();
  add("train/B/6.png");
  add("test/b/7.png");
  add("test/c/8.png");
  EXPECT_EQ(open().warnings, (std::vector<std::string>{"the classes B and b differ in case only"}));
}

TEST_F(ImageFolders, whose_parts_are_spelled_otherwise_are_refused_with_what_is_looked_for) {
  for (const char* name : {"Train/a/1.png", "Train/b/2.png", "Test/a/3.png", "Test/b/4.png"}) add(name);
  expect_refusal(refusal(), ExitCode::kBadData, {"Test/a is a folder inside a class folder, where only images may be"});
  EXPECT_TRUE(refusal().names("folders named train and test (or val)")) << refusal();
}

TEST_F(ImageFolders, beside_train_that_are_not_used_are_named) {
  for (const char* name : {"train/a/1.png", "train/a/2.png", "train/b/3.png", "train/b/4.png", "valid/a/5.png"}) {
    add(name);
  }
  expect_refusal(refusal(), ExitCode::kUsage, {"valid stands beside train and is neither test nor val"});
  EXPECT_EQ(open({{"image-test-share", "0.4"}}).note,
            "test images held out of each class by --image-test-share 0.4; not used: valid/");
  add("val/a/6.png");
  EXPECT_EQ(open().note, "test images from val/; not used: valid/");
  add("test/a/7.png");
  EXPECT_EQ(open().note, "test images from test/; not used: val/, valid/");
}

TEST_F(ImageFolders, are_known_again_by_the_names_of_files_and_classes) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "test/a/3.png"}) add(name);
  const auto identity = [&] {
    DataSplit split = open();
    hash_identity(split);
    return split.identity;
  };
  EXPECT_EQ(open().class_names, (std::vector<std::string>{"a", "b"}));
  const std::string before = identity();
  EXPECT_EQ(identity(), before);
  fs::rename(place() / "train/b/2.png", place() / "train/b/5.png");
  const std::string renamed = identity();
  EXPECT_NE(renamed, before);
  // Renaming class b to c changes neither labels nor the order of files.
  fs::rename(place() / "train/b", place() / "train/c");
  EXPECT_NE(identity(), renamed);
}

TEST_F(ImageFolders, without_images_are_missed_with_what_is_expected) {
  expect_refusal(refusal(), ExitCode::kInputMissing, {"a folder for each class"});
  add("one/1.png");
  expect_refusal(refusal(), ExitCode::kInputMissing, {"1 class folder, expected at least 2"});
  add("two/2.png");
  expect_refusal(refusal(), ExitCode::kBadData, {"class one has one image (one/1.png)"});
  add("test/two/2.png");
  expect_refusal(refusal(), ExitCode::kInputMissing, {"but there is"});
  write_bytes(place() / "images.zip", {'P', 'K', 3, 4});
  for (const char* set : {"image-folder", "mnist"}) {
    expect_refusal(refusal_of([&] {
                     open_dataset(set, {{"data-dir", (place() / "images.zip").string()}});
                   }),
                   ExitCode::kInputMissing, {"images.zip (it is a ZIP archive: unpack it with unzip)"});
  }
  const Refusal unnamed = refusal_of([] { open_dataset("image-folder", {}); });
  expect_refusal(unnamed, ExitCode::kInputMissing, {"--data-dir"});
}

TEST_F(ImageFolders, refuse_a_share_that_has_no_effect_or_no_meaning) {
  write_image_folder(place());
  EXPECT_TRUE(refusal({{"image-test-share", "0.2"}}).names("--image-test-share has no effect"));
  EXPECT_EQ(refusal({{"image-test-share", "0.2"}}).code, ExitCode::kUsage);
  for (const char* share : {"0", "1", "-1", "nan"}) {
    EXPECT_EQ(refusal({{"image-test-share", share}}).code, ExitCode::kUsage) << share;
  }
  EXPECT_EQ(refusal({{"image-size", "0"}}).code, ExitCode::kUsage);
  EXPECT_EQ(refusal({{"decode-threads", "0"}}).code, ExitCode::kUsage);
}

TEST_F(ImageFolders, give_the_same_bits_with_one_and_with_four_threads) {
  write_image_folder(place());
  const std::vector<float> one = floats_of(open({{"decode-threads", "1"}, {"image-size", "16"}}));
  EXPECT_EQ(one.size(), 36u * 12 * 12 * 3);
  EXPECT_EQ(floats_of(open({{"decode-threads", "4"}, {"image-size", "16"}})), one);
}

TEST_F(ImageFolders, keep_as_many_decoded_images_as_they_may) {
  for (const char* name : {"train/a/1.png", "train/a/2.png", "train/b/3.png", "test/a/4.png"}) add(name);
  for (const auto& [room, kept] :
       {std::pair{"0", 0}, std::pair{"47", 0}, std::pair{"100", 2}, std::pair{"191", 3}, std::pair{"1k", 4}}) {
    const DataSplit split = open({{"image-size", "4"}, {"image-cache", room}});
    const auto train = images_in(*split.train), test = images_in(*split.test);
    fs::rename(place() / "train", place() / "away");
    fs::rename(place() / "test", place() / "away/test");
    Bytes pixels(48);
    for (int i = 0; i < 4; ++i) {
      const Dataset& part = i < 3 ? *split.train : *split.test;
      const Refusal found = refusal_of([&] { part.read(i % 3, pixels); });
      EXPECT_EQ(found.code, i < kept ? ExitCode::kDone : ExitCode::kInputMissing) << room << ", image " << i;
    }
    if (kept == 4) {
      EXPECT_EQ(images_in(*split.train), train);
      EXPECT_EQ(images_in(*split.test), test);
    }
    fs::rename(place() / "away/test", place() / "test");
    fs::rename(place() / "away", place() / "train");
  }
}

TEST_F(ImageFolders, are_staged_with_their_folders) {
  write_image_folder(place() / "images");
  const Options given = {{"data-dir", (place() / "images").string()}, {"stage-to", (place() / "local").string()}};
  const std::vector<float> original = floats_of(open_dataset("image-folder", {{"data-dir", given.at("data-dir")}}));
  open_dataset("image-folder", given);
  std::size_t copies = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place() / "local"))
    copies += entry.path().has_extension() && entry.path().extension() != ".lock" && entry.is_regular_file();
  EXPECT_EQ(copies, 48u);
  const DataSplit staged = open_dataset("image-folder", given);
  fs::rename(place() / "images", place() / "moved");
  EXPECT_EQ(floats_of(staged), original) << "it reads the copies";
}

}  // namespace
}  // namespace eave
