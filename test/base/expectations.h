// What tests of every room expect of texts and of errors.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "eave/check.h"

namespace eave {

// Whether `words` occur in `text`; a failed EXPECT_TRUE prints both.
inline testing::AssertionResult says(const std::string& text, const std::string& words) {
  const bool is_there = text.find(words) != std::string::npos;
  return (is_there ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "'" << words << "' " << (is_there ? "is in: " : "is not in: ") << text;
}

// The Error that `action` throws; its code is kDone if `action` throws none.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::kDone, ""};
}

inline ExitCode code_of(const std::function<void()>& action) { return error_of(action).code(); }

// Expects that `action` throws an Error with this code, whose message has these words.
inline void expect_error(ExitCode code, const std::string& words, const std::function<void()>& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_TRUE(says(error.what(), words));
}

}  // namespace eave
