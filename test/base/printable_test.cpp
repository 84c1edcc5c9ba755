// Text from files must not reach a terminal as control sequences. Messages keep their own line breaks; a line break
// inside a name that they quote does not start a new line.
#include "base/printable.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

TEST(Printable, leaves_text_in_any_language_as_it_is) {
  for (const char* text :
       {"", "easgd tau=3", "\xc3\xa9t\xc3\xa9", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80", "5 \xc2\xb5s"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, replaces_what_moves_a_cursor_or_turns_the_direction_of_writing) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(printable("a\r\n\t\x07\x7f"), "a?????");
  EXPECT_EQ(printable("\xc2\x9b[31m"), "?[31m") << "the control sequence introducer in one character";
  for (const char* text : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6",
                           "\xe2\x81\xa9", "\xe2\x80\xa8", "\xe2\x80\x8b", "\xef\xbb\xbf", "\xf3\xa0\x81\x81"})
    EXPECT_EQ(printable("x" + std::string(text) + "y"), "x?y");
}

TEST(Printable, replaces_each_byte_that_is_no_utf8) {
  EXPECT_EQ(printable("a\xffz\xc3"), "a?z?");
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\x9b"), "??????????") << "too long, half a pair, too large";
}

TEST(Printable, keeps_line_ends_where_they_are_asked_for) {
  EXPECT_EQ(printable_lines("a\nb\x1b\n"), "a\nb?\n");
  EXPECT_EQ(printable("a\nb"), "a?b");
}

TEST(Message, is_one_line_unless_it_was_made_of_several) {
  EXPECT_EQ(message_of(Error(ExitCode::kUsage, "no file a\nb\x1b[31m")), "no file a?b?[31m");
  EXPECT_EQ(message_of(std::runtime_error("a\xff")), "a?");
  EXPECT_EQ(message_of(Error(ExitCode::kBadData, std::string("'a\0': b", 7))), "'a?': b");
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
