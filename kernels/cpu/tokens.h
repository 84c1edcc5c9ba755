// The passes of layers that work on windows of tokens. Each is in the file of its name: embedding.cpp, row_norm.cpp,
// attention.cpp and token_loss.cpp. Sums have a fixed order, so equal inputs give equal bits.
#pragma once

#include <cstdint>

#include "kernels/cpu/layers.h"

namespace eave::cpu {

// Tables of vectors.

struct Embedding {
  std::int64_t samples = 0, positions = 0;
  std::int64_t vocabulary = 0, places = 0;  // rows of the two tables; places: 0 if there is no second table
  std::int64_t width = 0;
};

// output[sample, position] = table[token] + place_table[position]; place_table is nullptr if there is none. Tokens are
// whole numbers in [0, vocabulary).
void embed(const Embedding& shape, const float* tokens, const float* table, const float* place_table, float* output);
// Adds each row of d_output to its token's row of d_table, in the order of the rows. If not `adds`, d_table is cleared
// first. d_places gets the sums over samples, and 0 in rows that no position uses.
void embed_gradient(const Embedding& shape, const float* tokens, const float* d_output, bool adds, float* d_table,
                    float* d_places);

// Layer norm, and RMS norm if not `centred`.

struct RowNorm {
  std::int64_t rows = 0, channels = 0;
  bool centred = true;
  float epsilon = 0;
};

// `shift` is nullptr if there is none. moments: of each row the mean (0 if not centred) and 1/deviation.
void row_norm(const RowNorm& norm, const float* input, const float* scale, const float* shift, float* output,
              float* moments);
inline std::int64_t row_norm_scratch(const RowNorm& norm) { return 6 * norm.channels; }  // floats
// d_input, d_shift: nullptr if not wanted. The scratch is aligned to 8 bytes.
void row_norm_gradient(const RowNorm& norm, const float* input, const float* scale, const float* moments,
                       const float* d_output, float* d_input, float* d_scale, float* d_shift, float* scratch);

// Causal softmax of the scores of a panel of queries. Query i of the panel sees the first `first` + i + 1 keys. The
// scores of a key are a row of kQueries values, one for each query, so that queries lie side by side in a vector. Rows
// are for `first` + `queries` keys. Where a query does not see a key, results are 0. A panel of fewer queries leaves
// the ends of the rows with values of no meaning.

struct ScorePanel {
  static constexpr std::int64_t kQueries = 32;
  std::int64_t queries = 0, first = 0;
  float factor = 1;  // of the scores
};

// In place: scores become shares. log_sums, nullptr if not wanted, gets the logarithm of each query's sum of
// exponentials.
void softmax_scores(const ScorePanel& panel, float* scores, float* log_sums);
// Makes the shares anew from scores and log_sums, in place. d_shares become the gradients of the unscaled scores.
// `dots` has each query's product of output and d_output. dropout: nullptr, or the factors of the shares; then d_shares
// are the gradients of the shares times their factors, and scores become these products.
void softmax_scores_gradient(const ScorePanel& panel, float* scores, const float* log_sums, const float* dots,
                             const float* dropout, float* d_shares);
// The products of rows of a and b, which have `width` values and are `stride` apart.
void dots_of_rows(const float* a, const float* b, std::int64_t stride, std::int64_t rows, std::int64_t width,
                  float* dots);

// Rotary positions of rows with `turned` heads, followed by `copied` heads that stay as they are.

struct Rotary {
  std::int64_t samples = 0, positions = 0;
  std::int64_t turned = 0, copied = 0;
  std::int64_t width = 0;  // of a head, even
};

// cosines, sines: positions × width / 2 of them.
void rotate(const Rotary& rotary, const float* cosines, const float* sines, const float* input, float* output);

// product[i] = a[i] · b[i]; product may be a or b.
void multiply(const float* a, const float* b, float* product, std::int64_t count);

// As softmax_cross_entropy, faster for many rows or classes. Exponentials err by 1 unit in the last place. d_logits may
// be logits.
LossTotals token_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                               const LossFactors& factors, float* d_logits);

}  // namespace eave::cpu
