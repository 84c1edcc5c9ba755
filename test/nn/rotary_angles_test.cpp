// The angles of rotary positions against the frequencies that Llama 3.1's code computes, and their words in a layer.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "device/operations.h"
#include "eave/check.h"
#include "nn/graph.h"
#include "test/expectations.h"

namespace eave {
namespace {

// By wavelengths, as transformers writes it.
double angle_of_llama3(std::int64_t pair, std::int64_t width, double base, double factor, double low, double high,
                       double trained) {
  const double frequency = 1 / std::pow(base, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < trained / high) return frequency;
  if (wavelength > trained / low) return frequency / factor;
  const double smooth = (trained / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

TEST(RotaryAngles, are_those_of_llama_3) {
  const RotaryAngles angles{.base = 500000, .stretch = 8, .low = 1, .high = 4, .trained = 8192};
  int kept = 0, between = 0;
  for (std::int64_t pair = 0; pair < 64; ++pair) {
    const double expected = angle_of_llama3(pair, 128, 500000, 8, 1, 4, 8192),
                 plain = RotaryAngles{500000}.of_pair(pair, 128);
    EXPECT_NEAR(angles.of_pair(pair, 128) / expected, 1, 1e-12) << pair;
    kept += expected == plain;
    between += expected < plain && expected > plain / 8 * 1.001;
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(between, 3);
}

TEST(RotaryAngles, are_divided_by_an_even_stretch) {
  for (std::int64_t pair = 0; pair < 4; ++pair)
    EXPECT_DOUBLE_EQ((RotaryAngles{.base = 100, .stretch = 2.5F}.of_pair(pair, 8)),
                     RotaryAngles{100}.of_pair(pair, 8) / 2.5);
}

TEST(RotaryAngles, have_words_in_the_layer) {
  const auto build = [](const std::string& arguments) {
    return build_graph(
        "embedding 8; residual(linear 24; rotary 2 " + arguments + "; attention 2; linear 8); linear classes",
        {6, 1, 1}, 5);
  };
  for (const char* good : {"base 100", "stretch 2", "base 100 stretch 2", "stretch 8 low 1 high 4 trained 32"})
    EXPECT_NO_THROW(build(good)) << good;
  expect_error(ExitCode::kUsage, "expected \"high\" at its end", [&] { build("stretch 8 low 1"); });
  expect_error(ExitCode::kUsage, "expected \"trained\", not \"base\"", [&] { build("stretch 8 low 1 high 4 base 3"); });
  expect_error(ExitCode::kUsage, "the turns of other pairs is a number from 4 to",
               [&] { build("stretch 8 low 4 high 1 trained 32"); });
  expect_error(ExitCode::kUsage, "the stretch is a number from 1 to", [&] { build("stretch 0.5"); });
}

}  // namespace
}  // namespace eave
