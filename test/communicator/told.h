// The texts that a method has for its user: its card and its warnings, or why it refuses its options.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/expectations.h"
#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {

struct Told {
  std::string card, refusal;          // one of them is ""
  ExitCode code = ExitCode::kDone;    // of the refusal
  std::vector<std::string> warnings;  // of rank 0
};

// Makes a worker on each of `ranks` ranks. Expects that all ranks say the same, and that rank 0 alone warns.
inline Told told(const std::string& communicator, int ranks, const Given& given, const Problem& problem = {}) {
  Told told;
  on_ranks({"threads", ranks}, [&](Transport& transport) {
    Told mine;
    const Error error = error_of([&] {
      Worker worker(transport, communicator, given, problem);
      mine.card = worker.communicator().equation();
      mine.warnings = worker.warnings;
    });
    for (const std::string& other : transport.all_gather(mine.card + error.what())) {
      EXPECT_EQ(other, mine.card + error.what());
    }
    if (transport.rank() == 0) {
      told = {mine.card, error.what(), error.code(), mine.warnings};
    } else {
      EXPECT_TRUE(mine.warnings.empty());
    }
  });
  return told;
}

inline void expect_refused(const std::string& communicator, int ranks, const Given& given, const std::string& words) {
  const Told refused = told(communicator, ranks, given);
  EXPECT_EQ(refused.code, ExitCode::kUsage) << refused.refusal;
  EXPECT_TRUE(says(refused.refusal, words));
}

}  // namespace eave
