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
  TextPrinter printer;
  for (const char* piece : {"a\xE2", "\x82", "\xAC\tb\r", "\n\x1B[2J", "\xFF", "c\xF0\x9F"}) printer.add(piece);
  printer.finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\xE2\x82\xAC\tb\n?[2J?c?");
}

TEST(TextPrinter, prints_bytes_that_are_no_characters_at_once) {
  testing::internal::CaptureStdout();
  TextPrinter printer;
  printer.add("\xE2\x82");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  testing::internal::CaptureStdout();
  printer.add("x");  // so the bytes before it begin no character
  EXPECT_EQ(testing::internal::GetCapturedStdout().back(), 'x');
}

}  // namespace
}  // namespace eave
