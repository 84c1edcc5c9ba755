// Tests event files byte by byte against the documented formats.
#include "report/record/tensorboard.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "base/files/input_file.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Values from https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4, and the check value from the catalogue of CRCs.
TEST(Crc32c, has_the_published_values) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
}

std::uint64_t number(const std::string& bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + static_cast<std::size_t>(i)));
  return value;
}

std::uint64_t masked(const std::string& bytes) {
  const std::uint32_t value = crc32c(bytes);
  return static_cast<std::uint32_t>((value >> 15 | value << 17) + 0xa282ead8U);
}

// Returns the content of each record. Expects that both checksums of every record are right.
std::vector<std::string> events_of(const std::string& file) {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < file.size();) {
    const std::uint64_t size = number(file, at, 8);
    EXPECT_EQ(number(file, at + 8, 4), masked(file.substr(at, 8)));
    events.push_back(file.substr(at + 12, size));
    EXPECT_EQ(number(file, at + 12 + size, 4), masked(events.back()));
    at += 16 + size;
  }
  return events;
}

// Returns the fields of a protocol buffer. Fields of 4 bytes, of 8 bytes and byte strings come as bytes, varints as
// decimal numbers.
std::multimap<std::uint64_t, std::string> fields_of(const std::string& message) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  std::multimap<std::uint64_t, std::string> fields;
  while (at < message.size()) {
    const std::uint64_t key = varint();
    if ((key & 7) == 0) {
      fields.emplace(key >> 3, std::to_string(varint()));
      continue;
    }
    const std::uint64_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
    fields.emplace(key >> 3, message.substr(at, size));
    at += size;
  }
  return fields;
}

std::map<std::string, float> scalars_of(const std::string& event) {
  std::map<std::string, float> scalars;
  const auto fields = fields_of(fields_of(event).find(5)->second);
  for (auto [field, end] = fields.equal_range(1); field != end; ++field) {
    const auto value = fields_of(field->second);
    scalars[value.find(1)->second] =
        std::bit_cast<float>(static_cast<std::uint32_t>(number(value.find(2)->second, 0, 4)));
  }
  return scalars;
}

class Events : public testing::Test {
 protected:
  std::vector<std::string> read() const { return events_of(read_file(fs::directory_iterator(place)->path())); }
  const TemporaryDirectory directory;
  const fs::path& place = directory.path();
};

TEST_F(Events, are_records_of_version_time_step_and_scalars) {
  EventFile file(place);
  file.write(300, {{"loss", 0.25}, {"of many", std::nan("")}});
  const std::vector<std::string> events = read();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(fields_of(events[0]).find(3)->second, "brain.Event:2");
  const auto fields = fields_of(events[1]);
  EXPECT_EQ(fields.find(2)->second, "300");
  const auto time = std::bit_cast<double>(number(fields.find(1)->second, 0, 8));
  EXPECT_NEAR(time, static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(scalars_of(events[1]).at("loss"), 0.25F);
  EXPECT_TRUE(std::isnan(scalars_of(events[1]).at("of many")));
}

TEST_F(Events, of_files_begun_in_the_same_second_are_apart) {
  const EventFile one(place), two(place);
  EXPECT_NE(one.path(), two.path());
}

// A step takes 0.25 s, half of it waiting, and 100 samples. The loss of step n is n, but step 5 has none (NaN).
TEST_F(Events, of_steps_are_one_a_second_with_means_and_shares) {
  TensorBoard board(place);
  for (std::int64_t n = 1; n <= 7; ++n) {
    const auto real = static_cast<double>(n);
    board.write({{n, 100 * n, real, n == 5 ? std::nan("") : real, 0.5, real / 4, 0.125, 0, 0.125, 0, 8}});
  }
  board.finish();
  board.finish();
  const std::vector<std::string> events = read();
  ASSERT_EQ(events.size(), 4u) << "the version, step 1, steps 2 to 5, steps 6 and 7";
  EXPECT_EQ(fields_of(events[1]).find(2)->second, "1");
  EXPECT_FALSE(scalars_of(events[1]).contains("samples_per_second"));
  EXPECT_EQ(fields_of(events[2]).find(2)->second, "5");
  const std::map<std::string, float> second = {{"learning_rate", 0.5F},
                                               {"bytes", 40},
                                               {"loss", 3},
                                               {"samples_per_second", 400},
                                               {"time/computing", 0.5F},
                                               {"time/exchanging", 0},
                                               {"time/waiting", 0.5F},
                                               {"time/loading", 0}};
  EXPECT_EQ(scalars_of(events[2]), second);
  EXPECT_EQ(fields_of(events[3]).find(2)->second, "7");
  EXPECT_EQ(scalars_of(events[3]).at("loss"), 6.5F);
}

TEST_F(Events, of_text_count_tokens) {
  TensorBoard board(place);
  board.count_tokens(64);
  for (std::int64_t n = 1; n <= 5; ++n) {
    StepRecord step{n, 100 * n, 1, 1, 0.5, static_cast<double>(n) / 4, 0.125, 0, 0.125, 0, 8};
    step.gradient_norm = static_cast<double>(n);
    board.write({step});
  }
  EvaluationRecord evaluation;
  evaluation.metric = {"perplexity", true};
  evaluation.step = 5;
  evaluation.center = {3, 20};
  evaluation.ema = ModelScore{2, 10};
  board.write(evaluation);
  const std::vector<std::string> events = read();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(scalars_of(events[2]).at("tokens_per_second"), 25600);
  EXPECT_FALSE(scalars_of(events[2]).contains("samples_per_second"));
  EXPECT_EQ(scalars_of(events[2]).at("gradient_norm"), 5);
  EXPECT_EQ(scalars_of(events[3]).at("test/perplexity/ema"), 10);
  EXPECT_EQ(scalars_of(events[3]).at("test/loss/ema"), 2);
}

}  // namespace
}  // namespace eave
