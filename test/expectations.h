// Expectations of texts and errors, for the tests of every room.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {

using Texts = std::vector<std::string>;

// Whether `words` occur in `text`; a failed EXPECT_TRUE prints both.
inline testing::AssertionResult says(const std::string& text, const std::string& words) {
  const bool is_there = text.find(words) != std::string::npos;
  return (is_there ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "'" << words << "' " << (is_there ? "is in: " : "is not in: ") << text;
}

// Expects all of `parts` in `text`.
inline void expect_parts(const std::string& text, const Texts& parts) {
  for (const std::string& part : parts) EXPECT_TRUE(says(text, part));
}

inline int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
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

// The error of `action` in one line, for comparisons: "64 message", or "accepted".
inline std::string refusal_by(const std::function<void()>& action) {
  const Error error = error_of(action);
  if (error.code() == ExitCode::kDone) return "accepted";
  return std::to_string(static_cast<int>(error.code())) + " " + error.what();
}

}  // namespace eave
