// Messages keep their own line breaks; a line break inside a name that they quote does not start a new line.
#include "base/message.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

TEST(Message, is_one_line_unless_it_was_made_of_several) {
  EXPECT_EQ(message_of(Error(ExitCode::kUsage, "no file a\nb\x1b[31m")), "no file a?b?[31m");
  EXPECT_EQ(message_of(std::runtime_error("a\xff")), "a?");
  const LinesError lines(ExitCode::kBadData, {"2 are bad:", "  a\nb: cut off", "  c\t"});
  EXPECT_EQ(message_of(lines), "2 are bad:\n  a?b: cut off\n  c?");
  EXPECT_EQ(lines.code(), ExitCode::kBadData);
}

TEST(Message, keeps_its_lines_behind_a_front) {
  const LinesError of_lines = with_front("x\ny: ", LinesError(ExitCode::kBadData, {"a", "b"}), ExitCode::kUsage);
  EXPECT_EQ(message_of(of_lines), "x?y: a\nb");
  EXPECT_EQ(of_lines.code(), ExitCode::kUsage);
  EXPECT_EQ(message_of(with_front("x: ", Error(ExitCode::kUsage, "a\nb"), ExitCode::kUsage)), "x: a?b");
}

TEST(Message, lines_are_joined_and_parted) {
  for (const std::vector<std::string>& lines : {std::vector<std::string>{""}, {"a"}, {"a", "", "b"}, {"", ""}})
    EXPECT_EQ(lines_in(joined_lines(lines)), lines);
}

}  // namespace
}  // namespace eave
