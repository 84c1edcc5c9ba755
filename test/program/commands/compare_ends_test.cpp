// Tests how `eave compare` over the transport tcp ends, if a rank hangs or is asked to leave.
#include <gtest/gtest.h>

#include <string>

#include "test/program/expectations.h"

namespace eave {
namespace {

// A long comparison by two processes, $rank_0 and $rank_1, whose messages go to err0 and err1. When the first run has
// finished, `script` runs.
Ended compare_by_two(const Place& place, const std::string& script, const std::string& limits = "") {
  const std::string words =
      "compare --communicators easgd:tau=2 --output all --batch 8 --ranks 2 --seeds 1000 --data synthetic "
      "--synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 --epochs 1 --model mlp "
      "--transport tcp " +
      limits;
  return place.run(
      "timeout -k 5 60 sh -c 'export WORLD_SIZE=2 EAVE_MEET=127.0.0.1:$((15000 + $$ % 15000)); "
      "RANK=0 \"$0\" \"$@\" > out0 2> err0 & rank_0=$!; "
      "RANK=1 \"$0\" \"$@\" > out1 2> err1 & rank_1=$!; "
      "until ls all/*/summary.json > out2 2>&1; do sleep 0.05; done; " +
      script + "' " + program() + " " + words);
}

TEST(Compare, ends_with_69_if_a_rank_hangs) {
  const Place place;
  const Ended ended = compare_by_two(place, "kill -STOP $rank_1; wait $rank_0; code=$?; kill -KILL $rank_1; exit $code",
                                     "--limit-setup 3s --limit-step 3s");
  EXPECT_EQ(ended.code, 69) << ended.errors << place.read("err0") << place.read("err1");
  expect_parts(place.read("err0"),
               {"eave: warning: rank 1 on ", "eave: rank 1 on ", " has not answered for 3 s. The job ends here"});
}

TEST(Compare, asked_to_leave_over_tcp_ends_all_ranks_with_75_and_one_message) {
  for (const std::string rank : {"$rank_0", "$rank_1"}) {
    const Place place;
    const Ended ended =
        compare_by_two(place, "kill -USR1 " + rank + "; wait $rank_0; code=$?; wait $rank_1; echo $code $?");
    EXPECT_EQ(ended.output, "75 75\n") << ended.errors;
    EXPECT_EQ(place.read("err0"),
              "eave: left on request; what is finished is kept in all: the same command goes on with the rest\n");
    EXPECT_EQ(place.read("err1"), "");
  }
}

}  // namespace
}  // namespace eave
