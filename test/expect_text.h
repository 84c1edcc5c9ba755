// Expectations of texts and errors, for the tests of every room.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {

using Texts = std::vector<std::string>;

// Expects all of `parts` in `text`.
inline void expect_parts(const std::string& text, const Texts& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

inline int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Returns the error that `action` throws, or one with ExitCode::kDone if it throws none.
template <class Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::kDone, ""};
}

// Expects that `action` throws an error with `code`, whose text has all of `parts`.
template <class Action>
void expect_error(const Action& action, ExitCode code, const Texts& parts) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code(), code) << error.what();
  expect_parts(error.what(), parts);
}

// The same in one line, for comparisons: "64 message", or "accepted".
template <class Action>
std::string refusal_by(const Action& action) {
  const Error error = error_of(action);
  if (error.code() == ExitCode::kDone) return "accepted";
  return std::to_string(static_cast<int>(error.code())) + " " + error.what();
}

}  // namespace eave
