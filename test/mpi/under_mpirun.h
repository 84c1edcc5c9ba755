// The main function of a test program that mpirun starts. Every rank runs every test, in step with the other ranks. One
// file of the program includes this header.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "eave/agreement.h"
#include "eave/job.h"
#include "test/transport/ranks.h"

namespace eave {

inline Transport* under_test = nullptr;  // lives as long as main runs the tests

// The test output of ranks other than 0: they print only failures.
class FailurePrinter final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", under_test->rank(), result.file_name() ? result.file_name() : "?",
                 result.line_number(), result.message());
  }
};

inline void run_all_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::GTEST_FLAG(catch_exceptions) = false;  // an exception ends all ranks, or the others wait for ever
  const std::string expected = "--ranks=" + std::to_string(under_test->size());
  agree(*under_test, [&] {
    if (argc != 2 || argv[1] != expected)
      throw Error(ExitCode::kConfiguration,
                  std::string("told ") + (argc > 1 ? argv[1] : "nothing") + ", has " + expected);
  });
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (under_test->rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  const int failed = RUN_ALL_TESTS();
  agree(*under_test, [&] {
    if (failed || testing::UnitTest::GetInstance()->test_to_run_count() == 0)
      throw Error(ExitCode::kInternal, "tests failed, or none ran");
  });
}

std::vector<Ranks> ranks_under_test() { return {{under_test->name(), under_test->size()}}; }

void on_ranks(const Ranks&, const std::function<void(Transport&)>& body) { body(*under_test); }

// Makes the transport to be tested, which may be a decorator of `mpi`, and calls `body` with it.
using InFront = std::function<void(Transport& mpi, const std::function<void(Transport&)>& body)>;

inline int run_under_mpirun(int argc, char** argv, const InFront& put_in_front) {
  if (!started_by_launcher()) return 1;
  return find_kind(transport_kinds(), "mpi").run(0, [&](Transport& bare) {
    put_in_front(bare, [&](Transport& transport) {
      under_test = &transport;
      run_all_tests(argc, argv);
    });
  });
}

}  // namespace eave
