#include <algorithm>

#include "kernels/cpu/tokens.h"

namespace eave::cpu {

void embed(const Embedding& shape, const float* tokens, const float* table, const float* place_table, float* output) {
  for (std::int64_t row = 0; row < shape.samples * shape.positions; ++row, output += shape.width) {
    const float* of_token = table + static_cast<std::int64_t>(tokens[row]) * shape.width;
    if (place_table == nullptr) {
      std::copy_n(of_token, shape.width, output);
      continue;
    }
    const float* of_place = place_table + row % shape.positions * shape.width;
    for (std::int64_t c = 0; c < shape.width; ++c) output[c] = of_token[c] + of_place[c];
  }
}

void embed_gradient(const Embedding& shape, const float* tokens, const float* d_output, bool adds, float* d_table,
                    float* d_places) {
  if (!adds) std::fill_n(d_table, shape.vocabulary * shape.width, 0.0f);
  if (d_places != nullptr) std::fill_n(d_places, shape.places * shape.width, 0.0f);
  for (std::int64_t row = 0; row < shape.samples * shape.positions; ++row, d_output += shape.width) {
    float* of_token = d_table + static_cast<std::int64_t>(tokens[row]) * shape.width;
    for (std::int64_t c = 0; c < shape.width; ++c) of_token[c] += d_output[c];
    if (d_places == nullptr) continue;
    float* of_place = d_places + row % shape.positions * shape.width;
    for (std::int64_t c = 0; c < shape.width; ++c) of_place[c] += d_output[c];
  }
}

}  // namespace eave::cpu
