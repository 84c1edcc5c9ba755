// Layers that a model's text repeats.
#include "nn/specification.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

// Names of tensors and seeds of first weights and dropout follow from the numbers of layers.
void expect_same_layers(const std::vector<LayerText>& found, const std::vector<LayerText>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].text(), expected[i].text());
    EXPECT_EQ(found[i].number, expected[i].number) << found[i].text();
    expect_same_layers(found[i].body, expected[i].body);
    expect_same_layers(found[i].shortcut, expected[i].shortcut);
  }
}

TEST(Specification, repeats_layers_as_if_each_were_written) {
  const auto expect = [](const std::string& text, const std::string& whole) {
    SCOPED_TRACE(text);
    expect_same_layers(parse_specification(text), parse_specification(whole));
  };
  expect("repeat 1 (relu)", "relu");
  expect("flatten; repeat 2 (dense 4; relu); dense classes", "flatten; dense 4; relu; dense 4; relu; dense classes");
  expect("repeat 2(repeat 2(relu;);dropout 0.5);dense 3", "relu; relu; dropout 0.5; relu; relu; dropout 0.5; dense 3");
  const std::string block = "residual(conv2d 6 1x1; relu | conv2d 6 1x1)";
  expect("repeat 3 (" + block + "; relu)", block + "; relu; " + block + "; relu; " + block + "; relu");
  expect("residual(repeat 2 (relu) | repeat 2 (relu)); relu", "residual(relu; relu | relu; relu); relu");
}

TEST(Specification, refuses_repetitions_that_cannot_be_read) {
  const auto expect = [](const std::string& text, const std::string& says) {
    SCOPED_TRACE(text);
    expect_error(ExitCode::kUsage, says, [&] { parse_specification(text); });
  };
  for (const char* count : {"", "0", "-1", "x", "2.5", "20001", "99999999999"})
    expect("repeat " + std::string(count) + " (relu)", "\"repeat\" is followed by a whole number from 1 to 20000");
  expect("repeat 2", "a '(' is missing after \"repeat 2\"");
  expect("repeat 2 relu", "a '(' is missing after \"repeat 2\"");
  expect("repeat 2 ()", "no layers in the parentheses of \"repeat 2\"");
  expect("repeat 2 (relu", "the ')' of \"repeat 2(\" is missing");
  expect("repeat 2 (relu | relu)", "a '|' in the parentheses of \"repeat 2\"");
  expect("repeat 2 (relu) relu", "a ';' is missing after \"repeat 2(…)\"");
  expect("repeat 2 (rellu)", "model layer 1: there is no layer \"rellu\"");
  expect("repeat 20000 (repeat 20000 (repeat 20000 (relu)))", "more than 20000 layers");
  expect("repeat 10000 (relu; relu); relu", "more than 20000 layers");
}

}  // namespace
}  // namespace eave
