// Tests the files of --trace.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;
using Track = std::vector<std::pair<double, double>>;  // from, to, in microseconds

constexpr double kRounding = 2e-3;  // in microseconds; the file has times to a nanosecond

std::string traced(const std::string& more) { return quick("--run-dir run --overwrite " + more); }

// Returns the spans by rank and track. Expects that spans of a track do not overlap.
std::map<std::pair<int, int>, Track> tracks_of(const Json& trace, bool exchanges_alone = false) {
  std::map<std::pair<int, int>, Track> tracks;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    if (exchanges_alone && event.at("name") == "gather") continue;
    Track& track = tracks[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    const double begin = event.at("ts"), length = event.at("dur");
    EXPECT_GE(begin, 0);
    EXPECT_GE(length, 0);
    EXPECT_TRUE(track.empty() || begin >= track.back().second - kRounding) << event;
    track.emplace_back(begin, begin + length);
  }
  return tracks;
}

double common(const Track& one, const Track& other) {
  double sum = 0;
  for (const auto& [a, b] : one) {
    for (const auto& [c, d] : other) sum += std::max(std::min(b, d) - std::max(a, c), 0.0);
  }
  return sum;
}

class Traces : public testing::TestWithParam<std::string> {};

TEST_P(Traces, hold_all_ranks_on_one_clock_and_the_overlap_that_their_spans_have) {
  const Place place;
  for (const Launch& launch : {Launch{}, Launch{2}}) {
    if (launch.mpirun_ranks > 0 && !has_mpirun()) continue;
    const std::string ranks = launch.mpirun_ranks > 0 ? "" : "--transport threads --ranks 2 ";
    const Ended ended =
        expect_end(0, place.eave(traced("--trace --epochs 6 --evaluate-every 2 " + ranks + GetParam()), launch));
    const Json trace = json_in(place, "run/trace.json");
    auto tracks = tracks_of(trace);
    double behind = 0, waited = 0;
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(tracks[std::pair(rank, 5)].size(), 3u) << "evaluations";
      EXPECT_GE(tracks[std::pair(rank, 1)].size(), 36u) << "steps";
      const Track sums = tracks_of(trace, true)[std::pair(rank, 2)];
      EXPECT_GE(sums.size(), 6u);
      for (const int track : {1, 4}) behind += common(sums, tracks[std::pair(rank, track)]);
      waited += common(sums, tracks[std::pair(rank, 3)]);
    }
    // No rank leaves an evaluation before all ranks have come. So there is a moment at which all ranks evaluate.
    const double error = trace.at("metadata").at("ranks")[1].at("clock_error_us");
    EXPECT_GT(error, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto &one = tracks[std::pair(0, 5)][i], &other = tracks[std::pair(1, 5)][i];
      EXPECT_LE(std::max(one.first, other.first), std::min(one.second, other.second) + error);
    }
    const double share = trace.at("metadata").at("overlap").at("share");
    EXPECT_NEAR(share, behind / (behind + waited), 0.01);
    EXPECT_EQ(json_in(place, "run/summary.json").at("overlap").get<double>(), share);
    expect_parts(ended.output, {" % of communication ran behind computing"});
  }
}

INSTANTIATE_TEST_SUITE_P(With, Traces,
                         testing::Values("--communicator allreduce", "--communicator easgd --tau 2",
                                         "--communicator easgd-async --tau 2"),
                         [](const auto& each) { return "case_" + std::to_string(each.index); });

TEST(Trace, is_written_where_it_is_asked_for_alone) {
  const Place place;
  expect_end(64, place.eave("train" + std::string(kQuick) + "--trace"), {"--trace needs --run-dir"});
  expect_end(0, place.eave(traced("--trace")));
  const Json trace = json_in(place, "run/trace.json");
  EXPECT_TRUE(trace.at("metadata").at("overlap").at("share").is_null()) << "one rank exchanges nothing";
  EXPECT_FALSE(json_in(place, "run/summary.json").contains("overlap"));
  expect_end(0, place.eave(traced("")));
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/trace.json")) << "that of the run before";
}

}  // namespace
}  // namespace eave
