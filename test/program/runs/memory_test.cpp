// A rank holds at most its activations, 5 times its parameters, and 100 MB. The five arrays are parameters, gradients,
// momentum, center and difference. The 100 MB are for the program, its libraries and the images.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/nn/fixture.h"
#include "test/nn/token_batch.h"
#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

constexpr int kBatch = 32;
constexpr std::int64_t kEvaluationBatch = 128;  // the default

// mlp reads Fashion-MNIST. The other models draw their images, and few of them, so that they are evaluated sooner.
constexpr const char* kGrey =
    " --data synthetic --synthetic-size 28 --synthetic-samples 1000 --synthetic-test-samples 256";
constexpr const char* kColoured =
    " --data synthetic --synthetic-size 32 --synthetic-channels 3 --synthetic-samples 1000 "
    "--synthetic-test-samples 256";

std::int64_t allowed_bytes(const std::string& model, ImageShape shape) {
  TestModel replica(model_specification(model), shape, 10, kBatch);
  const TestBatch evaluated(shape, 10, kEvaluationBatch);
  replica.evaluate(evaluated.batch);
  return replica.model.activation_bytes() + 5 * replica.model.parameter_size() * std::int64_t{sizeof(float)} +
         100'000'000;
}

// Expects that peak memory is within the bound. The run is the worst case: easgd holds more than allreduce, and a rank
// under mpirun holds more than a single process.
void expect_within_bound(const std::string& model, ImageShape shape, const std::string& data) {
  const Place place;
  const Ended ended = place.eave("train --model " + model + data + " --batch " + std::to_string(kBatch) +
                                     " --communicator easgd --tau 2 --max-steps 6 --progress off --run-dir run",
                                 {has_mpirun() ? 2 : 0});
  if (ended.code == 66) GTEST_SKIP() << "Fashion-MNIST is not installed";
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const auto summary = json_in(place, "run/summary.json");
  const auto peak = summary.at("peak_memory_bytes").get<std::int64_t>();
  EXPECT_LE(peak, allowed_bytes(model, shape));
  EXPECT_GT(peak, 10'000'000) << "of a program with its libraries";
}

TEST(PeakMemory, of_mlp_is_within_its_bound) { expect_within_bound("mlp", {28, 28, 1}, ""); }
TEST(PeakMemory, of_lenet_is_within_its_bound) { expect_within_bound("lenet", {28, 28, 1}, kGrey); }
TEST(PeakMemory, of_resnet20_is_within_its_bound) { expect_within_bound("resnet20", {32, 32, 3}, kColoured); }
TEST(PeakMemory, of_cifar7_is_within_its_bound) { expect_within_bound("cifar7", {28, 28, 3}, kColoured); }

// AdamW has two moments where the others have a momentum, so a rank holds six arrays.
TEST(PeakMemory, of_a_transformer_is_within_its_bound) {
  const Place place;
  std::string text;
  for (int word = 0; word < 110; ++word) text += std::to_string(word * word % 7919) + (word % 9 == 0 ? "\n" : " ");
  for (int document = 0; document < 30; ++document) {
    place.write("texts/" + std::to_string(document) + ".txt", std::to_string(document) + text);
  }
  expect_end(
      0, place.eave("train --data text --data-dir texts --model nanogpt-char --batch 8 --optimizer adamw --lr 0.001 "
                    "--communicator easgd --tau 1 --max-steps 2 --progress off --run-dir run",
                    {has_mpirun() ? 2 : 0}));
  TestModel replica(model_specification("nanogpt-char"), {256, 1, 1}, 256, 8);
  const TokenBatch evaluated(256, 256, 8);
  replica.evaluate(evaluated.batch);
  const std::int64_t arrays = 6 * replica.model.parameter_size() * std::int64_t{sizeof(float)};
  const auto peak = json_in(place, "run/summary.json").at("peak_memory_bytes").get<std::int64_t>();
  EXPECT_LE(peak, replica.model.activation_bytes() + arrays + 100'000'000);
  EXPECT_GT(peak, replica.model.activation_bytes() + arrays) << "or the bound says nothing";
}

std::int64_t peak_of_dense(const std::string& width, const std::string& communicator) {
  const Place place;
  expect_end(0, place.eave("train --model 'flatten; dense " + width + "; relu; dense " + width +
                               "; relu; dense classes' --data synthetic --synthetic-size 8 --synthetic-samples 500 " +
                               "--synthetic-test-samples 64 --batch 4 --max-steps 4 --progress off --run-dir run " +
                               "--communicator " + communicator,
                           {has_mpirun() ? 2 : 0}));
  return json_in(place, "run/summary.json").at("peak_memory_bytes").get<std::int64_t>();
}

// Evaluation, checkpoints and the saved model need no further copy of the parameters, nor does the beginning. The 0.3
// copies above the arrays are for pages and activations.
void expect_growth(double arrays, const std::string& communicator) {
  constexpr std::int64_t kFewWeights = 512 * 512 + 76 * 512, kManyWeights = 2560 * 2560 + 76 * 2560;
  const auto growth = static_cast<double>(peak_of_dense("2560", communicator) - peak_of_dense("512", communicator));
  EXPECT_LE(growth / static_cast<double>((kManyWeights - kFewWeights) * std::int64_t{sizeof(float)}), arrays + 0.3);
}

TEST(PeakMemory, of_easgd_grows_by_five_times_the_parameters) { expect_growth(5, "easgd --tau 2"); }
TEST(PeakMemory, of_none_grows_by_four_times_the_parameters) { expect_growth(4, "none"); }
// Gradients lie in memory that the two ranks share. A rank adds up half of them, so it also maps that half of the other
// rank's.
TEST(PeakMemory, of_allreduce_grows_by_three_and_a_half_times_the_parameters) { expect_growth(3.5, "allreduce"); }

// Returns an IDX header: the magic number, the number of items, and the shape of an item.
std::string idx_header(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes) {
  std::string bytes;
  const auto append = [&](std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  };
  append(magic);
  for (const std::uint32_t size : sizes) append(size);
  return bytes;
}

// Writes black grey-scale images of 256 × 256 pixels. The file is sparse: the pixels take no blocks on the disk.
void write_black_images(const Place& place, const std::string& set, std::uint32_t count) {
  constexpr std::uint32_t kSide = 256, kImages = 0x803, kLabels = 0x801;
  std::string labels = idx_header(kLabels, {count});
  for (std::uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
  place.write("data/" + set + "-labels-idx1-ubyte", labels);
  const std::string images = "data/" + set + "-images-idx3-ubyte", header = idx_header(kImages, {count, kSide, kSide});
  place.write(images, header);
  std::filesystem::resize_file(place.path() / images, header.size() + std::uintmax_t{kSide} * kSide * count);
}

// The set has 1.6 million images in shuffled order. A rank reads an image when it needs it, 410 MB in all on each rank.
TEST(PeakMemory, is_not_that_of_the_data) {
  const Place place;
  constexpr std::uint32_t kCount = 1'600'000;
  try {
    write_black_images(place, "train", kCount);
  } catch (const std::filesystem::filesystem_error& error) {
    GTEST_SKIP() << "a file of 100 GiB with nothing in it cannot be made here: " << error.what();
  }
  write_black_images(place, "t10k", 64);
  expect_end(0, place.eave("train --data mnist --data-dir data --model 'max_pool 8; flatten; dense classes' --batch 32 "
                           "--max-steps 196 --evaluate-every 0 --progress off --run-dir run",
                           {has_mpirun() ? 2 : 0}));
  const auto peak = json_in(place, "run/summary.json").at("peak_memory_bytes").get<std::int64_t>();
  EXPECT_LT(peak, 300'000'000) << "of 105 GB of images";
}

// Each thread's stack takes 64 MiB of address space, so the program can start only some of the threads.
TEST(Memory, that_is_too_little_for_all_threads_ends_with_71) {
  const Place place;
  write_image_folder(place, "images", [](const std::string&, std::string&) {});
  expect_end(
      71,
      place.run("sh -c 'ulimit -s 65536; ulimit -v 3000000; exec \"$@\"' sh " + program() +
                " train --data image-folder --data-dir images --decode-threads 256 --progress off --max-steps 1"),
      {"cannot start thread ", " of --decode-threads 256 to read images", "ulimit -v, now 3000000",
       "give fewer --decode-threads"});
}

// If eave did not check first, the library that starts compute threads would end the program with its own message.
TEST(Memory, that_is_too_little_for_threads_to_compute_ends_with_71) {
  const Place place;
  const std::string limited = "sh -c 'ulimit -v 3000000; exec \"$@\"' sh ", trains = " " + quick("--threads 64");
  for (const std::string& stack :
       {std::string("sh -c 'ulimit -s 65536; exec \"$@\"' sh "), std::string("env OMP_STACKSIZE=64M ")}) {
    expect_end(
        71, place.run(stack + limited + program() + trains),
        {"cannot start thread ", " of --threads 64 to compute", "ulimit -v, now 3000000", "give fewer --threads"});
  }
  expect_end(0, place.run(limited + program() + " " + quick("--threads 2")));
}

}  // namespace
}  // namespace eave
