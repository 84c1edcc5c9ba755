#include "base/thread.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

TEST(StartThread, runs_its_body) {
  int value = 0;
  start_thread("to count", [&] { value = 3; }).join();
  EXPECT_EQ(value, 3);
}

TEST(StartThread, that_cannot_be_had_says_for_what_and_which_limits_to_raise) {
  const Error error = error_of([] {
    refuse_thread("a thread for rank 1",
                  std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  });
  EXPECT_EQ(error.code(), ExitCode::kResource);
  for (const char* words :
       {"cannot start a thread for rank 1", "Resource temporarily unavailable", "ulimit -v", "ulimit -u"}) {
    EXPECT_TRUE(says(error.what(), words));
  }
}

}  // namespace
}  // namespace eave
