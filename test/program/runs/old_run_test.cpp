// Each command reads the run directory of an earlier eave, or refuses it by name.
#include <gtest/gtest.h>

#include <cmath>

#include "base/formats/safetensors.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const std::string kTraining =
    "train --transport threads --data synthetic --synthetic-samples 256 --synthetic-test-samples 32 --synthetic-size 8 "
    "--batch 4 --model 'global_pool; dense classes' --progress off --evaluate-every 0.5 --keep 1 --log-every 2 ";
const std::string kOfRun = kTraining + "--communicator easgd --tau 2 ";

class OldRun : public testing::Test {
 protected:
  OldRun() { fs::copy(EAVE_SOURCE "/test/program/old_run", place_.path(), fs::copy_options::recursive); }

  void expect_zero(const std::string& words, const std::string& says) const {
    expect_output(0, place_.eave(words), {says});
  }
  void expect_refused(const std::string& words, const std::string& file) const {
    expect_told(65, place_.eave(words), {file});
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string content = place_.read(file);
    const std::size_t at = content.find(from);
    ASSERT_NE(at, std::string::npos) << file;
    place_.write(file, content.replace(at, from.size(), to));
  }

  const Place place_;
};

// Another processor or library may round differently. If eave read a method or a file wrongly, values would differ by
// far more.
void expect_same_values(const fs::path& one, const fs::path& other, float tolerance) {
  const SafetensorsFile a = read_safetensors(one), b = read_safetensors(other);
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (const NamedArray& array : a.arrays) {
    const ConstSlice values = b.array(array.name, array.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(array.values[i], values[i], tolerance) << array.name;
  }
}

TEST_F(OldRun, is_read_by_commands_that_show_runs) {
  expect_zero("summary run", "15.62 %");
  expect_zero("report run --html none", "15.62 %");
  expect_zero("watch run --once", "epoch 1.00 of 1");
  expect_zero("watch run", "15.62 %");
  expect_zero("plan run", "allreduce");
}

TEST_F(OldRun, gives_its_model_away) {
  expect_zero("export run --safetensors model --layout eave", "wrote model");
  expect_zero("checkpoint ls run", "32");
  expect_zero("checkpoint verify run", "step 32: whole");
  expect_zero("checkpoint verify run", "model.safetensors: readable; it has no hash");
  expect_zero("checkpoint export run --safetensors of_checkpoint --layout eave", "step 32: wrote");
  for (const char* file : {"model", "of_checkpoint"})
    expect_same_values(place_.path() / file, place_.path() / "run/model.safetensors", 0);
  expect_zero(kOfRun + "--ranks 1 --epochs 1 --initial-parameters run --run-dir new", "results in new");
}

TEST_F(OldRun, goes_on_to_the_numbers_that_it_would_have_had) {
  expect_zero(kOfRun + "--ranks 2 --epochs 1 --run-dir run --resume auto", "nothing is left to do");
  expect_zero(kOfRun + "--ranks 2 --epochs 2 --run-dir run --resume auto", "after step 32");
  expect_same_values(place_.path() / "run/model.safetensors", place_.path() / "after_64_steps.safetensors", 1e-5F);
  expect_zero("report run --html none", "1 of 1");
}

TEST_F(OldRun, goes_on_with_more_ranks_and_repeats_an_order) {
  expect_zero(kOfRun + "--ranks 4 --epochs 2 --run-dir run --resume elastic", "results in run");
  expect_zero(
      kTraining + "--ranks 2 --epochs 1 --communicator easgd-async --tau 2 --run-dir again --replay exchanges.order",
      "");
}

TEST_F(OldRun, of_an_unknown_format_is_refused_by_the_name_of_the_file) {
  const std::string resume = kOfRun + "--ranks 2 --epochs 2 --run-dir run --resume auto";
  replace("run/config.json", "{", "{\"format\": 2,");
  expect_refused(resume, "run/config.json: it says format 2; this eave reads format 1");
  replace("run/config.json", "\"format\": 2,", "\"format\": 1,");
  replace("run/summary.json", "{", "{\"format\": 3,");
  expect_refused("summary run", "run/summary.json: it says format 3");
  replace("run/checkpoint/step-000032/rank-0.state", std::string("EAVESTAT\2", 9), std::string("EAVESTAT\3", 9));
  expect_refused(resume, "rank-0.state: its format is version 3");
  replace("exchanges.order", "order 1", "order 2");
  expect_refused(
      kTraining + "--ranks 2 --epochs 1 --communicator easgd-async --tau 2 --run-dir again --replay exchanges.order",
      "exchanges.order");
  place_.write("locked/run.lock", "host a\nmachine b\npid 1\nstarted 1\nsince 1\nformat 2\n");
  expect_refused(kOfRun + "--ranks 2 --epochs 1 --run-dir locked", "locked/run.lock: it is a lock of another format");
  expect_zero(kOfRun + "--ranks 2 --epochs 1 --run-dir new", "results in new");
  replace("new/model.safetensors", R"("eave_format":"1")", R"("eave_format":"2")");
  expect_refused("export new --npy arrays", "model.safetensors: it says eave_format 2");
  expect_refused(kOfRun + "--ranks 1 --epochs 1 --initial-parameters new --run-dir other",
                 "model.safetensors: it says eave_format 2");
  replace("new/metrics.jsonl", R"("format":1)", R"("format":3)");
  expect_refused("report new --html none", "metrics.jsonl line 1: it says format 3");
}

}  // namespace
}  // namespace eave
