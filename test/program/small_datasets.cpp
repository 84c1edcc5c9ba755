#include "test/program/small_datasets.h"

#include <initializer_list>

namespace eave {
namespace {

// Returns an IDX header: two zero bytes, 8 for "unsigned byte", the number of extents, then each extent, high byte
// first.
std::string header(std::initializer_list<int> extents) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const int extent : extents) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(extent >> shift & 255));
  }
  return bytes;
}

}  // namespace

void write_fashion_mnist(const Place& place, const std::string& directory,
                         const std::function<void(const std::string&, std::string&)>& change) {
  for (const std::string part : {"train", "t10k"}) {
    const int samples = part == "train" ? 12 : 11;
    std::string images = header({samples, 28, 28}), labels = header({samples});
    for (int i = 0; i < samples; ++i) {
      labels.push_back(static_cast<char>(i % 10));
      for (int pixel = 0; pixel < 28 * 28; ++pixel) images.push_back(static_cast<char>((pixel * (i % 10 + 1)) % 200));
    }
    for (auto& [name, bytes] : {std::pair<std::string, std::string*>{part + "-images-idx3-ubyte", &images},
                                std::pair<std::string, std::string*>{part + "-labels-idx1-ubyte", &labels}}) {
      change(name, *bytes);
      place.write(directory + "/" + name, *bytes);
    }
  }
}

void write_image_folder(const Place& place, const std::string& directory,
                        const std::function<void(const std::string&, std::string&)>& change) {
  using std::string_literals::operator""s;
  // A PNG of one grey pixel.
  const std::string grey =
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3a\x7e\x9b\x55\0\0\0\nIDAT"
      "\x78\x9c\x63\x68\0\0\0\x82\0\x81\x77\xcd\x72\xb6\0\0\0\0IEND\xae\x42\x60\x82"s;
  for (const std::string folder : {"train/a", "train/b", "test/a", "test/b"}) {
    for (const char* file : {"/1.png", "/2.png"}) {
      std::string bytes = grey;
      change(folder + file, bytes);
      place.write(directory + "/" + folder + file, bytes);
    }
  }
}

}  // namespace eave
