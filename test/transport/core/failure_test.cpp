// The message and the exit code of a job when an exception leaves a rank's body. Ranks are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "base/host.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/transport.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

int lines(const std::string& text) { return static_cast<int>(std::ranges::count(text, '\n')); }

TEST(Failure, of_a_single_rank_is_printed_without_its_rank) {
  const auto fails = [](Transport&) { throw Error(ExitCode::kInputMissing, "no such file: x"); };
  for (const char* name : {"loopback", "threads"}) {
    const JobResult ended = run_job({name, 1}, fails);
    EXPECT_EQ(ended.code, 66);
    EXPECT_EQ(ended.printed, "eave: no such file: x\n");
  }
}

TEST(Failure, of_one_rank_ends_all_and_is_printed_once_with_rank_and_host) {
  const JobResult ended = run_job({"threads", 4}, [](Transport& transport) {
    if (transport.rank() == 2) throw Error(ExitCode::kBadData, "bad magic");
    std::vector<float> values(10);
    for (;;) transport.all_reduce_sum(values).wait();
  });
  EXPECT_EQ(ended.code, 65);
  EXPECT_EQ(ended.printed.find("eave: rank 2 on "), 0u) << ended.printed;
  EXPECT_TRUE(says(ended.printed, ": bad magic\n"));
  EXPECT_EQ(lines(ended.printed), 1) << ended.printed;
}

TEST(Failure, agreed_by_all_ranks_is_printed_once_without_a_rank) {
  const JobResult ended = run_job({"threads", 4}, [](Transport& transport) {
    agree(transport, [] { throw Error(ExitCode::kUsage, "--batch 0: must be at least 1"); });
  });
  EXPECT_EQ(ended.code, 64);
  EXPECT_EQ(ended.printed, "eave: --batch 0: must be at least 1\n");
}

TEST(Failure, agreed_names_the_ranks_that_failed) {
  const JobResult ended = run_job({"threads", 4}, [](Transport& transport) {
    agree(transport, [&] {
      if (transport.rank() % 2 == 1) throw Error(ExitCode::kInputMissing, "no such file: x");
    });
  });
  EXPECT_EQ(ended.code, 66);
  EXPECT_EQ(ended.printed, "eave: ranks 1, 3 on " + host_name() + ": no such file: x\n");
}

// Control characters in an error's text, for example in a file name, are replaced. The lines of a LinesError stay, also
// if the message begins with the names of ranks.
TEST(Failure, is_one_line_unless_it_was_made_of_several) {
  const auto code = ExitCode::kBadData;
  const auto fails = [&](const Error& error) {
    return [&](Transport& transport) {
      if (transport.size() == 1) throw Error(error);
      agree(transport, [&] { throw Error(error); });
    };
  };
  const Error hostile(code, "cannot read a\neave: all is well\x1b[2J");
  EXPECT_EQ(run_job({"loopback", 1}, fails(hostile)).printed, "eave: cannot read a?eave: all is well?[2J\n");
  EXPECT_EQ(run_job({"threads", 2}, fails(hostile)).printed, "eave: cannot read a?eave: all is well?[2J\n");
  const LinesError list(code, {"2 are bad:", "  a\nb", "  c"});
  EXPECT_EQ(run_job({"loopback", 1}, [&](Transport&) { throw list; }).printed, "eave: 2 are bad:\n  a?b\n  c\n");
  const JobResult some = run_job({"threads", 3}, [&](Transport& transport) {
    agree(transport, [&] {
      if (transport.rank() == 2) throw list;
    });
  });
  EXPECT_EQ(some.printed, "eave: rank 2 on " + host_name() + ": 2 are bad:\n  a?b\n  c\n");
}

TEST(Failure, agreed_though_each_rank_has_its_own_is_one_message_of_the_lowest_rank) {
  const auto differently = [](int first) {
    return [first](Transport& transport) {
      agree(transport, [&] {
        if (transport.rank() < first) return;
        const bool is_first = transport.rank() == first;
        throw Error(is_first ? ExitCode::kBadData : ExitCode::kInputMissing,
                    is_first ? "z: bad magic" : "no such file: " + std::to_string(transport.rank()));
      });
    };
  };
  const JobResult three = run_job({"threads", 4}, differently(1));
  EXPECT_EQ(three.code, 65);
  EXPECT_EQ(three.printed.find("eave: rank 1 on "), 0u) << three.printed;
  EXPECT_TRUE(says(three.printed, ": z: bad magic; ranks 2, 3 failed too\n"));
  EXPECT_EQ(lines(three.printed), 1) << three.printed;
  const JobResult many = run_job({"threads", 12}, differently(0));
  EXPECT_TRUE(says(many.printed, "bad magic; ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 others failed too"));
}

TEST(Failure, to_read_the_text_of_another_call_says_that_the_ranks_must_be_in_step) {
  const JobResult ended = run_job({"threads", 2}, [](Transport& transport) {
    if (transport.rank() == 0) return agree(transport, [] {});
    (void)transport.gather("0f3a9e of another call");
    (void)transport.broadcast_text("");
  });
  EXPECT_EQ(ended.code, 70);
  EXPECT_TRUE(says(ended.printed, "a failure begins with its code: the ranks are in step"));
}

TEST(Failure, that_is_no_error_of_eave_ends_with_70_and_lack_of_memory_with_71) {
  const auto throws = [](auto exception) {
    return [exception](Transport& transport) {
      if (transport.rank() == 1) throw exception;
      transport.all_gather("");
    };
  };
  EXPECT_EQ(run_job({"threads", 2}, throws(std::runtime_error("oops"))).code, 70);
  EXPECT_EQ(run_job({"threads", 2}, throws(std::bad_alloc())).code, 71);
  EXPECT_EQ(run_job({"threads", 2}, throws(7)).code, 70);
}

TEST(Failure, number_of_ranks_below_one_is_refused) {
  const JobResult ended = run_job({"threads", 0}, [](Transport&) { FAIL() << "ran"; });
  EXPECT_EQ(ended.code, 64);
  EXPECT_EQ(lines(ended.printed), 1) << ended.printed;
}

// The ranks wait in all ways in which a rank can wait, when another rank leaves.
TEST(Abort, wakes_every_waiting_rank_with_peer_lost) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> woken(4, 0);
    run_job({"threads", 4}, [&](Transport& transport) {
      std::vector<float> values(10);
      if (transport.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * repeat));
        transport.abort(ExitCode::kInternal);
        return;
      }
      const ExitCode code = code_of([&] {
        if (transport.rank() == 1) transport.all_gather("text");
        if (transport.rank() == 2) transport.broadcast(values, 0).wait();
        Pending pending = transport.all_reduce_sum(values);
        std::this_thread::sleep_for(1ms);
        pending.wait();
      });
      woken[static_cast<std::size_t>(transport.rank())] = static_cast<int>(code);
      EXPECT_THROW(transport.all_gather("later"), Error);
    });
    EXPECT_EQ(woken, (std::vector<int>{0, 69, 69, 69}));
  }
}

TEST(Abort, with_operations_in_flight_frees_their_slices_first) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    const JobResult ended = run_job({"threads", 3}, [&](Transport& transport) {
      std::vector<float> values(200000, 1.0f);  // unwinding frees it after the Pendings have released it
      std::vector<Pending> pending;
      for (int k = 0; k < 3; ++k) pending.push_back(transport.all_reduce_sum(values));
      if (transport.rank() == repeat % 3) throw Error(ExitCode::kDiverged, "loss is not finite");
      for (;;) transport.all_reduce_sum(values).wait();
    });
    EXPECT_EQ(ended.code, 76);
  }
}

TEST(Threads, refuse_operations_out_of_step) {
  const JobResult ended = run_job({"threads", 3}, [](Transport& transport) {
    std::vector<float> values(static_cast<std::size_t>(transport.rank() == 1 ? 5 : 4));
    transport.all_reduce_sum(values).wait();
  });
  EXPECT_EQ(ended.code, 70);
  EXPECT_TRUE(says(ended.printed, "out of step"));
}

}  // namespace
}  // namespace eave
