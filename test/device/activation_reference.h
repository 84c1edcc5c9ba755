// The elementwise activations in double, by the standard library. A new word of kernels/elementwise needs one row here,
// or the functions `exact` and `exact_slope`; all tests of words find it.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/elementwise/words.h"

namespace eave {

struct ActivationReference {
  std::string_view word;
  float parameter;  // with which tests call it
  double (*forward)(double x, double parameter);
  double (*derivative)(double x, double parameter);
};

namespace reference {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double normal(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
inline double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
// (1 + tanh(z)) / 2 without its loss of digits for negative z.
inline double gelu_tanh_share(double x) {
  return sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
}

inline const std::vector<ActivationReference> kActivations = {
    {"relu", 0, [](double x, double) { return std::max(x, 0.0); }, [](double x, double) { return x > 0 ? 1.0 : 0.0; }},
    {"leaky_relu", 0.01f, [](double x, double slope) { return x > 0 ? x : slope * x; },
     [](double x, double slope) { return x > 0 ? 1 : slope; }},
    {"gelu", 0, [](double x, double) { return x * normal(x); },
     [](double x, double) { return normal(x) + x * density(x); }},
    {"gelu_tanh", 0, [](double x, double) { return x * gelu_tanh_share(x); },
     [](double x, double) {
       const double share = gelu_tanh_share(x), rest = gelu_tanh_share(-x);
       return share + x * share * rest * 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
     }},
    {"tanh", 0, [](double x, double) { return std::tanh(x); },
     [](double x, double) { return 1 / (std::cosh(x) * std::cosh(x)); }},
    {"sigmoid", 0, [](double x, double) { return sigmoid(x); },
     [](double x, double) { return sigmoid(x) * sigmoid(-x); }},
    {"silu", 0, [](double x, double) { return x * sigmoid(x); },
     [](double x, double) { return sigmoid(x) + x * sigmoid(x) * sigmoid(-x); }},
};

template <class Word>
void add_own_formula(std::vector<ActivationReference>& all, std::string_view word) {
  if constexpr (requires { Word::exact_slope(Word::exact(0.0)); }) {
    all.push_back({word, 0, [](double x, double) { return Word::exact(x); },
                   [](double x, double) { return Word::exact_slope(x); }});
  }
}

inline std::vector<ActivationReference> with_own_formulas(std::vector<ActivationReference> all) {
#define EAVE_ADD(word, Word) add_own_formula<elementwise::Word>(all, #word);
  EAVE_EACH_ELEMENTWISE(EAVE_ADD)
#undef EAVE_ADD
  return all;
}

}  // namespace reference

inline const ActivationReference* find_activation_reference(std::string_view word) {
  static const std::vector<ActivationReference> kAll = reference::with_own_formulas(reference::kActivations);
  const auto found = std::ranges::find(kAll, word, &ActivationReference::word);
  return found == kAll.end() ? nullptr : &*found;
}

inline const ActivationReference& activation_reference(std::string_view word) {
  if (const ActivationReference* found = find_activation_reference(word)) return *found;
  throw std::logic_error("test/device/activation_reference.h has no row for " + std::string(word));
}

}  // namespace eave
