#include "app/commands/text_printer.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

TEST(TextPrinter, holds_back_only_a_character_that_the_end_cuts) {
  EXPECT_EQ(whole_characters(""), 0u);
  EXPECT_EQ(whole_characters("ab"), 2u);
  EXPECT_EQ(whole_characters("a\xC3"), 1u);
  EXPECT_EQ(whole_characters("a\xC3\xA4"), 3u);
  EXPECT_EQ(whole_characters("a\xE2\x82"), 1u);
  EXPECT_EQ(whole_characters("a\xF0\x9F\x98"), 1u);
  EXPECT_EQ(whole_characters("a\xF0\x9F\x98\x80"), 5u);
  // Bytes that begin no character are printed at once, as '?'.
  EXPECT_EQ(whole_characters("a\x80"), 2u);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4u);
  EXPECT_EQ(whole_characters("a\xFF"), 2u);
  EXPECT_EQ(whole_characters("a\xC0"), 2u);
}

TEST(TextPrinter, prints_pieces_as_one_text) {
  testing::internal::CaptureStdout();
  TextPrinter printer(false);
  for (const char* piece : {"a\xE2", "\x82", "\xAC\tb\r", "\n\x1B[2J", "\xFF", "c\xF0\x9F"}) printer.add(piece);
  printer.finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\xE2\x82\xAC\tb\n?[2J?c?");
}

std::string printed(const std::string& text, bool is_on_terminal) {
  testing::internal::CaptureStdout();
  TextPrinter printer(is_on_terminal);
  printer.add(text);
  printer.finish();
  return testing::internal::GetCapturedStdout();
}

TEST(TextPrinter, keeps_characters_without_width_which_words_and_emoji_need) {
  for (const std::string text :
       {"\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xb1", "\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7",
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", "soft\xc2\xadly", "\xef\xbb\xbfx",
        "\xe2\x80\x8ex\xe2\x80\x8f"}) {
    EXPECT_EQ(printed(text, false), text);
    EXPECT_EQ(printed(text, true), text);
  }
}

TEST(TextPrinter, lets_no_text_turn_what_a_terminal_shows_after_it) {
  for (const std::string text : {"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_EQ(printed("x" + text + "y", false), "x" + text + "y");
    EXPECT_EQ(printed("x" + text + "y", true), "x?y");
  }
  EXPECT_EQ(printed("x\xc2\x9b[31m\x1b", true), "x?[31m?");
  EXPECT_EQ(printed("\xe2\n\xe2\x80\t", true), "?\n??\t");
}

TEST(TextPrinter, prints_bytes_that_are_no_characters_at_once) {
  testing::internal::CaptureStdout();
  TextPrinter printer(false);
  printer.add("\xE2\x82");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  testing::internal::CaptureStdout();
  printer.add("x");  // so the bytes before it begin no character
  EXPECT_EQ(testing::internal::GetCapturedStdout().back(), 'x');
}

}  // namespace
}  // namespace eave
