// hold_out_images: which files of each class are held out.
#include "data/images/image_listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace eave {
namespace {

ImageListing numbered_files(int first, int count) {
  ImageListing listing{.classes = {"a", "b"}};
  for (const std::string name : {"a", "b"}) {
    for (int i = first; i < first + count; ++i) {
      listing.train.names.push_back(name + "/" + std::to_string(i) + ".png");
      listing.train.labels.push_back(name == "b");
    }
  }
  return listing;
}

TEST(HeldOutImages, are_about_the_share_of_each_class) {
  for (const double share : {0.1, 0.5, 0.8}) {
    ImageListing listing = numbered_files(0, 2000);
    hold_out_images(listing, share);
    EXPECT_EQ(listing.train.names.size() + listing.test.names.size(), 4000u);
    for (const int label : {0, 1}) {  // within 5 standard deviations of random draws
      EXPECT_NEAR(static_cast<double>(std::ranges::count(listing.test.labels, label)), 2000 * share, 112);
    }
  }
}

// Files are added one by one to both classes.
TEST(HeldOutImages, stay_held_out_when_files_come_to_their_class) {
  std::set<std::string> trained, tested;
  for (int count = 40; count < 240; ++count) {
    ImageListing listing = numbered_files(1000 - count, count);
    hold_out_images(listing, 0.3);
    for (const std::string& name : trained) EXPECT_FALSE(std::ranges::count(listing.test.names, name)) << name;
    for (const std::string& name : tested) EXPECT_FALSE(std::ranges::count(listing.train.names, name)) << name;
    trained = {listing.train.names.begin(), listing.train.names.end()};
    tested = {listing.test.names.begin(), listing.test.names.end()};
  }
  EXPECT_EQ(trained.size() + tested.size(), 2 * 239u);
}

}  // namespace
}  // namespace eave
