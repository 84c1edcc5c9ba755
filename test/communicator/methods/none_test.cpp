// none: each worker trains alone, and --average-at-end takes the mean of all workers at the end.
#include "test/communicator/averaging_simulator.h"
#include "test/communicator/recording_transport.h"

namespace eave {
namespace {

class None : public testing::TestWithParam<Ranks> {};

TEST_P(None, is_each_worker_by_itself) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const AveragingCourse& course : averaging_courses()) {
      const Problem problem = course.problem();
      AveragingSimulator simulator(problem, transport.size());
      BegunWorker worker(transport, "none", {}, problem);
      worker.run(100, [&](std::int64_t t) { simulator.step_alone(t); });
      expect_near(worker.x, simulator.x[me(transport)]);
      expect_near(worker.consensus(), simulator.x[0]);
      worker.communicator().finish();
      expect_near(worker.consensus(), simulator.x[0]);
    }
  });
}

TEST_P(None, ends_in_the_mean_weighted_by_all_samples_where_asked) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .uneven = true};
    AveragingSimulator simulator(problem, transport.size());
    BegunWorker worker(transport, "none", {{"average-at-end", "on"}}, problem);
    worker.run(50, [&](std::int64_t t) { simulator.step_alone(t); });
    expect_near(worker.consensus(), simulator.x[0]);
    const std::vector<float> before = worker.x;
    worker.communicator().finish();
    expect_near(worker.consensus(), simulator.mean_of(simulator.x));
    EXPECT_EQ(worker.x, before) << "a run that has ended can be resumed";
    EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
  });
}

TEST_P(None, averages_at_the_end_of_a_resumed_run_over_the_samples_of_all_of_it) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.uneven = true};
    const Given given = {{"average-at-end", "on"}};
    Worker whole(transport, "none", given, problem), first(transport, "none", given, problem),
        second(transport, "none", given, problem);
    whole.begin();
    whole.run(20);
    first.begin();
    first.run(7);
    first.communicator().finish();
    second.begin();
    second.restore(first);
    second.run(13);
    whole.communicator().finish();
    second.communicator().finish();
    EXPECT_EQ(second.consensus(), whole.consensus());
  });
}

TEST_P(None, says_nothing_between_begin_and_finish) {
  on_ranks(GetParam(), [](Transport& transport) {
    RecordingTransport recording(transport);
    BegunWorker worker(recording, "none", {{"average-at-end", "on"}}, {.uneven = true});
    recording.calls.clear();
    worker.run(30);
    EXPECT_EQ(recording.text(), "");
    worker.communicator().finish();
    EXPECT_EQ(recording.text(), "sum 37\n");
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, None, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
