// If one bit of a model's arrays has changed, every command that reads the model refuses it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/formats/safetensors.h"
#include "base/hash.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

std::size_t begin_of_arrays(const std::string& file) {
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof(header));
  return static_cast<std::size_t>(8 + header);
}

// Returns the file with one bit flipped: bit 6 of the high byte of the value that lies at this share of the arrays. The
// value stays finite: 0.05 becomes 1.7e37.
std::string with_value_damaged(std::string file, double share) {
  const std::size_t begin = begin_of_arrays(file), values = (file.size() - begin) / 4;
  const auto value = std::min(values - 1, static_cast<std::size_t>(share * static_cast<double>(values)));
  char& byte = file[begin + 4 * value + 3];
  byte = static_cast<char>(byte ^ 0x40);
  return file;
}

std::string in_hexadecimal(ConstSlice values) {
  std::string text;
  for (const unsigned char byte : std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes())) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

struct ModelDamage : testing::Test {
  ModelDamage() { EXPECT_EQ(place.eave(train + "--run-dir run").code, 0); }

  void expect_refused(const std::string& words, const std::string& file, const Launch& launch = {}) const {
    const Ended ended = expect_end(65, place.eave(words, launch));
    const std::string said = ended.output + ended.errors;
    expect_parts(said, {file + ": its arrays do not match the hash in its metadata (eave_xxh3_128 is "});
  }
  void expect_done(const std::string& words, const std::string& says) const {
    const Ended ended = expect_end(0, place.eave(words));
    EXPECT_NE((ended.output + ended.errors).find(says), std::string::npos) << ended.output << ended.errors;
  }

  const Place place;
  const std::string train = "train" + std::string(kQuick) + "--transport threads --ranks 2 ";
  const std::string begin = "train" + std::string(kQuick) + "--max-steps 1 --run-dir new --initial-parameters ";
};

TEST_F(ModelDamage, of_one_bit_anywhere_is_refused_by_all_that_read_a_run) {
  const std::string whole = place.read("run/model.safetensors");
  for (const double share : {0.0, 0.3, 0.7, 1.0}) {
    place.write("run/model.safetensors", with_value_damaged(whole, share));
    for (const std::string words : {"export run --safetensors out", "export run --npy out", "checkpoint verify run"})
      expect_refused(words, "run/model.safetensors");
    for (const std::string from : {"run", "run/model.safetensors"})
      expect_refused(begin + from, "run/model.safetensors");
    EXPECT_FALSE(std::filesystem::exists(place.path() / "out"));
    EXPECT_FALSE(std::filesystem::exists(place.path() / "new"));
  }
  expect_refused(begin + "run --transport threads --ranks 2", "run/model.safetensors");
  if (has_mpirun()) expect_refused(begin + "run", "run/model.safetensors", {2});
  expect_done("checkpoint verify run --step 7", "step 7: whole");
  expect_done("checkpoint export run --layout eave --safetensors out", "step 7: wrote out");
  EXPECT_EQ(place.read("out"), whole) << "the message advises it";
}

TEST_F(ModelDamage, of_one_bit_is_refused_in_what_was_exported) {
  expect_done("export run --safetensors exported", "wrote exported");
  expect_done("checkpoint export run --safetensors of_checkpoint", "wrote of_checkpoint");
  EXPECT_EQ(place.read("exported"), place.read("of_checkpoint"));
  place.write("exported", with_value_damaged(place.read("exported"), 0.5));
  expect_refused("export exported --safetensors out", "exported");
  expect_refused(begin + "exported", "exported");
}

TEST_F(ModelDamage, is_told_beside_that_of_checkpoints) {
  expect_done("checkpoint verify run", "model.safetensors: whole\n");
  place.write("run/model.safetensors", with_value_damaged(place.read("run/model.safetensors"), 0.5));
  std::string state = place.read("run/checkpoint/step-000007/rank-0.state");
  state[state.size() / 2] = static_cast<char>(state[state.size() / 2] ^ 1);
  place.write("run/checkpoint/step-000007/rank-0.state", state);
  expect_refused("checkpoint verify run", "run/model.safetensors");
  EXPECT_TRUE(
      place.eave("checkpoint verify run")
          .says("damaged model run/model.safetensors, and damaged checkpoints: of step 7; see the lines above"));
  std::filesystem::remove_all(place.path() / "run/checkpoint");
  expect_refused("checkpoint verify run", "run/model.safetensors");
  std::filesystem::remove(place.path() / "run/model.safetensors");
  expect_end(66, place.eave("checkpoint verify run"));
}

TEST_F(ModelDamage, is_looked_for_in_the_parts_of_an_index) {
  const std::filesystem::path part = place.path() / "run/part.safetensors";
  std::filesystem::rename(place.path() / "run/model.safetensors", part);
  nlohmann::json index;
  for (const NamedArray& array : read_safetensors(part).arrays) index["weight_map"][array.name] = "part.safetensors";
  place.write("run/model.safetensors.index.json", index.dump());
  expect_done("checkpoint verify run", "model.safetensors.index.json: whole\n");
  place.write("run/part.safetensors", with_value_damaged(place.read("run/part.safetensors"), 0.5));
  expect_refused("checkpoint verify run", "run/part.safetensors");
}

// eave wrote no hash before 2026-11-26, and other programs write none.
TEST_F(ModelDamage, is_not_looked_for_if_there_is_no_hash) {
  std::string file = place.read("run/model.safetensors");
  const std::size_t entry = file.find("eave_xxh3_128");
  ASSERT_NE(entry, std::string::npos);
  file.replace(entry, 13, "else_xxh3_128");
  place.write("run/model.safetensors", file);
  expect_done("checkpoint verify run", "model.safetensors: readable; it has no hash");
  expect_done("export run --layout eave --safetensors out", "wrote out");
  expect_done(begin + "run", "results in new");
  EXPECT_EQ(hash_of(place.read("out").substr(begin_of_arrays(place.read("out")))),
            hash_of(file.substr(begin_of_arrays(file))));
}

TEST_F(ModelDamage, can_be_found_and_the_arrays_read_by_the_official_library) {
  const std::string python = python_with(place, "numpy");
  if (python.empty()) GTEST_SKIP() << "no python3 here has NumPy; apt-get install python3-numpy";
  expect_done("export run --safetensors exported", "wrote exported");
  for (const std::string name : {"run/model.safetensors", "exported"}) {
    const Ended read = place.run(python + " " + script("official_safetensors.py") + " " + name);
    if (read.code == 69) GTEST_SKIP() << "no safetensors here; run test/hostile_campaign/install_safetensors.py";
    ASSERT_EQ(read.code, 0) << read.errors;
    const auto found = nlohmann::json::parse(read.output);
    const std::string bytes = place.read(name);
    EXPECT_EQ(found.at("metadata").at("eave_xxh3_128"), hash_of(bytes.substr(begin_of_arrays(bytes))).text());
    const SafetensorsFile file = read_safetensors(place.path() / name);
    EXPECT_EQ(found.at("arrays").size(), file.arrays.size());
    for (const NamedArray& array : file.arrays)
      EXPECT_EQ(found.at("arrays").at(array.name), in_hexadecimal(array.values)) << array.name;
  }
}

}  // namespace
}  // namespace eave
