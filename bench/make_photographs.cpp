// Writes a small set of photographs, as JPEG files in a folder for each of 10 classes: train/CLASS/N.jpg,
// test/CLASS/N.jpg.
//
//   make_photographs DIR [--train N] [--test N] [--width N] [--height N] [--cifar10 DIR]
//
// --train and --test are images of each class. With --cifar10 they are those of CIFAR-10's binary version
// (data_batch_1.bin ..., or as many of those files as there are), made larger; else digits that eave draws in colour.
#include <cstddef>
#include <cstdio>
// It needs what stands above.
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "data/cifar10_file.h"
#include "data/digits.h"
#include "data/square_resize.h"
#include "program.h"

namespace eave::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kClasses = 10, kQuality = 90;
constexpr std::array<const char*, kClasses> kCifarNames = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                           "dog",      "frog",       "horse", "ship", "truck"};

struct Request {
  fs::path place;
  fs::path cifar;
  std::map<std::string, int> numbers = {{"--train", 200}, {"--test", 40}, {"--width", 200}, {"--height", 160}};
};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ExitCode::kUsage,
              what + "; make_photographs DIR [--train N] [--test N] [--width N] [--height N] [--cifar10 DIR]");
}

int number_in(const std::string& name, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 60000) {
    refuse(name + " " + text + ": expected a whole number from 1 to 60000");
  }
  return number;
}

Request read_request(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      request.place = words[i];
    } else if (i + 1 == words.size()) {
      refuse(words[i] + " lacks a value");
    } else if (words[i] == "--cifar10") {
      request.cifar = words[++i];
    } else if (request.numbers.contains(words[i])) {
      request.numbers[words[i]] = number_in(words[i], words[i + 1]);
      ++i;
    } else {
      refuse("unknown option " + words[i]);
    }
  }
  if (request.place.empty()) refuse("no directory given");
  return request;
}

void write_jpeg(const fs::path& path, ImageShape shape, const std::vector<std::uint8_t>& pixels) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // ends the program where memory is out
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long count = 0;
  jpeg_mem_dest(&info, &memory, &count);
  info.image_width = static_cast<JDIMENSION>(shape.width);
  info.image_height = static_cast<JDIMENSION>(shape.height);
  info.input_components = shape.channels;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kQuality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const std::size_t offset = std::size_t{info.next_scanline} * static_cast<std::size_t>(shape.width * shape.channels);
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + offset);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(memory), static_cast<std::streamsize>(count));
  jpeg_destroy_compress(&info);
  std::free(memory);
  if (!file.flush()) throw Error(ExitCode::kInputOutput, "cannot write " + path.string());
}

// The files of a part, into folders by class; no more of a class than were asked for.
class Album {
 public:
  Album(const fs::path& place, int images) : place_(place), images_(images) {}
  bool wants(int label) const { return counts_.at(static_cast<std::size_t>(label)) < images_; }
  bool is_full() const {
    return std::ranges::all_of(counts_, [&](int count) { return count == images_; });
  }
  void add(int label, const std::string& name, ImageShape shape, const std::vector<std::uint8_t>& pixels) {
    fs::create_directories(place_ / name);
    write_jpeg(place_ / name / (std::to_string(counts_.at(static_cast<std::size_t>(label))++) + ".jpg"), shape, pixels);
  }

 private:
  fs::path place_;
  int images_;
  std::array<int, kClasses> counts_{};
};

void draw_digits(Album album, ImageShape shape, std::uint32_t part) {
  const DigitArtist artist(shape);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.size()));
  for (std::uint64_t number = 0; !album.is_full(); ++number) {
    const int digit = static_cast<int>(number % kClasses);
    artist.draw(digit, RandomStream({1, Purpose::kSynthetic, part}, number), pixels);
    album.add(digit, "digit" + std::to_string(digit), shape, pixels);
  }
}

// Squares of the larger side, of which the middle is kept.
std::vector<std::uint8_t> enlarged(const std::vector<std::uint8_t>& pixels, ImageShape shape) {
  const int side = std::max(shape.width, shape.height);
  SquareResizer resizer(side);
  resizer.begin(kCifarSide, kCifarSide);
  constexpr std::size_t kRow = std::size_t{kCifarSide} * kCifarChannels;
  for (std::size_t row = 0; row < kCifarSide; ++row) resizer.add_row(std::span(pixels).subspan(row * kRow, kRow));
  std::vector<std::uint8_t> square(static_cast<std::size_t>(side * side * 3)), middle;
  resizer.finish(square);
  for (int row = 0; row < shape.height; ++row) {
    const auto first = square.begin() + ((row + (side - shape.height) / 2) * side + (side - shape.width) / 2) * 3;
    middle.insert(middle.end(), first, first + std::ptrdiff_t{shape.width} * 3);
  }
  return middle;
}

void take_cifar(Album album, ImageShape shape, const std::vector<fs::path>& paths) {
  constexpr std::int64_t kRecords = 10000;
  std::vector<std::uint8_t> pixels(std::size_t{kCifarSide} * kCifarSide * kCifarChannels);
  for (const fs::path& path : paths) {
    if (!fs::exists(path)) continue;
    const FileSource file(path);
    std::vector<std::uint8_t> labels;
    append_cifar_labels(file, kRecords, labels);
    for (std::int64_t record = 0; record < kRecords && !album.is_full(); ++record) {
      const int label = labels[static_cast<std::size_t>(record)];
      if (!album.wants(label)) continue;
      read_cifar_image(file, record, pixels);
      album.add(label, kCifarNames.at(static_cast<std::size_t>(label)), shape, enlarged(pixels, shape));
    }
  }
  if (!album.is_full())
    throw Error(ExitCode::kInputMissing, "there are not so many images in " + paths[0].parent_path().string());
}

void write_all(const Request& request) {
  const ImageShape shape{request.numbers.at("--height"), request.numbers.at("--width"), 3};
  Album train(request.place / "train", request.numbers.at("--train"));
  Album test(request.place / "test", request.numbers.at("--test"));
  if (request.cifar.empty()) {
    draw_digits(train, shape, 0);
    draw_digits(test, shape, 1);
    return;
  }
  std::vector<fs::path> batches;
  for (int number = 1; number <= 5; ++number)
    batches.push_back(request.cifar / ("data_batch_" + std::to_string(number) + ".bin"));
  take_cifar(train, shape, batches);
  take_cifar(test, shape, {request.cifar / "test_batch.bin"});
}

}  // namespace
}  // namespace eave::bench

int main(int count, char** words) {
  using namespace eave::bench;
  return run_program("make_photographs", [&] { write_all(read_request({words + 1, words + count})); });
}
