// A damaged checkpoint is never loaded. The message names the file and the reason, and the newest whole checkpoint is
// loaded.
#include <gtest/gtest.h>

#include <cstdlib>

#include "eave/random.h"
#include "test/temporary_directory.h"
#include "test/train/saving/checkpoint_files.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

class Damage : public testing::Test {
 protected:
  Damage() {
    write_crafted(directory_, 5);
    write_crafted(directory_, 9);
  }

  // Expects that find_checkpoint passes over step 9 with a message that contains `name`, and takes step 5.
  void expect_passed_over(const std::string& name, const std::string& how) {
    on_ranks({"loopback", 1}, [&](Transport& transport) {
      const auto found = find_checkpoint(transport, directory_);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->manifest.step, 5) << how;
      ASSERT_EQ(found->passed_over.size(), 1u) << how;
      EXPECT_NE(found->passed_over[0].find(name), std::string::npos) << how << ": " << found->passed_over[0];
    });
  }

  void expect_flip_is_found(const std::string& name, std::size_t bit) {
    flip_bit(newest_ / name, bit);
    expect_passed_over(name, name + ", bit " + std::to_string(bit));
    flip_bit(newest_ / name, bit);
  }

  TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path() / "checkpoint";
  const std::filesystem::path newest_ = directory_ / "step-000009";
};

TEST_F(Damage, is_none_in_what_was_written) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const auto found = find_checkpoint(transport, directory_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.step, 9);
    EXPECT_TRUE(found->passed_over.empty());
    std::vector<float> body;
    const CheckpointHeader header = read_rank(directory_, found->manifest, 1, &body);
    EXPECT_EQ(header.progress.samples, 144);
    EXPECT_EQ(header.vectors[2].name, "optimizer.0");
    EXPECT_EQ(std::vector<float>(body.begin(), body.begin() + 37), crafted_values(37, 9));
    EXPECT_EQ(std::vector<float>(body.begin() + 37, body.end()), crafted_values(37, -9));
  });
}

TEST_F(Damage, is_what_a_model_that_is_not_finite_has) {
  std::filesystem::remove_all(newest_);
  write_crafted(directory_, 9, system_file_calls(), 17);
  expect_passed_over(
      "rank-1.state: its 'parameters', the consensus, is not finite: the first such value is at index 17",
      "NaN in the parameters");
}

TEST_F(Damage, of_a_file_cut_at_any_length_is_found) {
  for (const std::string name : {"rank-0.state", "rank-1.state", "manifest.json"}) {
    const std::string whole = bytes_in(newest_ / name);
    for (std::size_t size = whole.size(); size-- > 0 && !HasFailure();) {
      std::filesystem::resize_file(newest_ / name, size);
      expect_passed_over(name, name + " cut at " + std::to_string(size));
    }
    put_bytes(newest_ / name, whole + '\0');
    expect_passed_over(name, name + " longer by one");
    put_bytes(newest_ / name, whole);
  }
}

TEST_F(Damage, of_any_bit_of_a_header_or_manifest_is_found) {
  const std::size_t header = encode_checkpoint_header(crafted_header(0, 2, 9)).size();
  const std::size_t manifest = bytes_in(newest_ / "manifest.json").size();
  for (std::size_t bit = 0; bit < 8 * header && !HasFailure(); ++bit) expect_flip_is_found("rank-0.state", bit);
  for (std::size_t bit = 0; bit < 8 * manifest && !HasFailure(); ++bit) expect_flip_is_found("manifest.json", bit);
}

// Flips random bits of the values, one at a time; all are equally likely. EAVE_FLIPS sets how many (default 10,000).
TEST_F(Damage, of_a_bit_of_the_values_is_found) {
  const char* const wanted = std::getenv("EAVE_FLIPS");
  const auto count = static_cast<std::uint64_t>(wanted != nullptr ? std::atoll(wanted) : 10000);
  const std::string whole = bytes_in(newest_ / "rank-1.state");
  RandomStream random({5, Purpose::kTest, 9}, 0);
  const std::size_t header = encode_checkpoint_header(crafted_header(1, 2, 9)).size();
  for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) {
    const std::size_t bit = 8 * header + random.below(static_cast<std::uint32_t>(8 * (whole.size() - header)));
    expect_flip_is_found("rank-1.state", bit);
  }
}

TEST_F(Damage, of_another_runs_or_ranks_file_is_found) {
  const std::string mine = bytes_in(newest_ / "rank-1.state");
  for (const auto& other : {directory_ / "step-000005/rank-1.state", newest_ / "rank-0.state"}) {
    put_bytes(newest_ / "rank-1.state", bytes_in(other));
    expect_passed_over("rank-1.state", other);
  }
  std::filesystem::remove(newest_ / "rank-1.state");
  expect_passed_over("rank-1.state", "missing");
  put_bytes(directory_ / "mine", mine);
  std::filesystem::create_symlink(directory_ / "mine", newest_ / "rank-1.state");
  expect_passed_over("rank-1.state", "a link");
  std::filesystem::remove(newest_ / "manifest.json");
  expect_passed_over("manifest.json", "missing");
}

// Each of these manifests is valid by itself, but does not agree with the ranks' files.
TEST_F(Damage, of_a_rank_that_the_manifest_mistakes_is_found) {
  Manifest manifest = read_manifest(directory_, 9);
  const auto expect_refused = [&](const Manifest& wrong, const std::string& how) {
    put_bytes(newest_ / "manifest.json", encode_manifest(wrong));
    expect_passed_over(how == "step" ? "manifest.json" : "rank-", how);
  };
  Manifest wrong = manifest;
  std::swap(wrong.files[0], wrong.files[1]);
  expect_refused(wrong, "ranks");
  wrong = manifest;
  wrong.files.pop_back();
  expect_refused(wrong, "fewer");
  wrong = manifest;
  wrong.identity["seed"] = "2";
  expect_refused(wrong, "configuration");
  wrong = manifest;
  wrong.step = 8;
  expect_refused(wrong, "step");
  wrong = manifest;
  wrong.samples += 1;
  expect_refused(wrong, "samples");
  for (const std::string name : {"../rank-0.state", "/etc/passwd", "", ".", ".."}) {
    wrong = manifest;
    wrong.files[0].name = name;
    EXPECT_THROW(parse_manifest(encode_manifest(wrong)), Error) << name;
  }
}

TEST_F(Damage, of_all_ends_with_each_named) {
  for (const std::string step : {"step-000005", "step-000009"}) put_bytes(directory_ / step / "rank-0.state", "");
  const EndedJob ended = run_job(1, [&](Transport& transport) { find_checkpoint(transport, directory_); });
  EXPECT_EQ(ended.code, 65);
  for (const std::string name : {"step-000005/rank-0.state", "step-000009/rank-0.state"})
    EXPECT_NE(ended.messages[0].find(name), std::string::npos) << ended.messages[0];
}

TEST(NoCheckpoint, is_found_where_there_is_none) {
  const TemporaryDirectory temporary;
  std::filesystem::create_directories(temporary.path() / "step-000004.partial");
  std::filesystem::create_directories(temporary.path() / "step-4");
  on_ranks({"threads", 2}, [&](Transport& transport) {
    EXPECT_FALSE(find_checkpoint(transport, temporary.path()));
    EXPECT_FALSE(find_checkpoint(transport, temporary.path() / "none"));
  });
}

TEST(NoCheckpoint, is_a_file_or_a_link_but_each_is_named) {
  const TemporaryDirectory temporary;
  std::filesystem::create_directories(temporary.path() / "step-4");
  put_bytes(temporary.path() / "step-000005", "");
  std::filesystem::create_directory_symlink(temporary.path() / "step-4", temporary.path() / "step-000006");
  const EndedJob ended = run_job(1, [&](Transport& transport) { find_checkpoint(transport, temporary.path()); });
  EXPECT_EQ(ended.code, 65);
  ASSERT_EQ(ended.messages.size(), 1u);
  for (const char* part : {"step-000006: it is a symbolic link", "step-000005: it is no directory"})
    EXPECT_NE(ended.messages[0].find(part), std::string::npos) << ended.messages[0];
}

TEST(Header, that_asks_for_more_than_the_file_has_is_refused) {
  CheckpointHeader header = crafted_header(0, 2, 9);
  for (const std::uint64_t size : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, UINT64_MAX, std::uint64_t{1000}}) {
    header.vectors[1].size = size;
    const std::string bytes = encode_checkpoint_header(header);
    EXPECT_THROW(parse_checkpoint_header(bytes, bytes.size() + 2 * 37 * 4 + 16), Error) << size;
  }
}

}  // namespace
}  // namespace eave
