// The gradient of attention, in two kernels. In the first, a block sums over the keys for a tile of queries. In the
// second, a block sums over the queries, and over the heads of a group, for a tile of keys. Both compute the shares
// again. So each number has one writer, and no atomics are needed.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/support/attention_tiles.h"
#include "kernels/cuda/support/share_dropout.h"

namespace eave::cuda {
namespace {

template <class T>
struct AttentionGradientPass {
  Attention shape;
  ShareRule dropout;
  float factor;  // of scores
  const T* input;
  const T* output;
  const float* log_sums;
  const T* d_output;
  T* d_input;
  float* dots;  // of each row of a head: output · d_output
};

// The rows of a head in the arrays.
template <class T>
struct HeadOfPass {
  HeadRows<const T> queries, keys, values, d_outputs;
  const float* log_sums;
  float* dots;
  ShareFactors factors;

  __device__ HeadOfPass(const AttentionGradientPass<T>& pass, std::int64_t sample, int head)
      : factors(pass.dropout, pass.shape, sample, head) {
    const Attention& s = pass.shape;
    const int group = s.heads + head / (s.heads / s.groups);
    queries = input_rows(s, pass.input, sample, head);
    keys = input_rows(s, pass.input, sample, group);
    values = input_rows(s, pass.input, sample, group + s.groups);
    d_outputs = output_rows(s, pass.d_output, sample, head);
    const std::int64_t row = (sample * s.heads + head) * s.positions;
    log_sums = pass.log_sums + row;
    dots = pass.dots + row;
  }
};

// Multiplies the rows of a tile of output and d_output. All threads of the block call it; four share a row.
template <class T>
__device__ inline void multiply_rows(const HeadRows<const T>& outputs, const HeadOfPass<T>& head, int first,
                                     AttentionTiles& tiles) {
  constexpr int kThreads = kBlock / kTilePositions;
  const int row = static_cast<int>(threadIdx.x) / kThreads, own = static_cast<int>(threadIdx.x) % kThreads;
  float sum = 0;
  for (int channel = own; channel < outputs.width; channel += kThreads) {
    sum = fmaf(outputs.at(first + row, channel), head.d_outputs.at(first + row, channel), sum);
  }
  tiles.of_threads[own][row] = sum;
  __syncthreads();
  if (own == 0 && first + row < outputs.positions) {
    for (int i = 1; i < kThreads; ++i) sum += tiles.of_threads[i][row];
    head.dots[first + row] = sum;
  }
  __syncthreads();
}

// The shares of a tile of queries and keys, times their factors of dropout, and the gradients of the scores.
struct ShareGradients {
  Scores shares, d_scores;

  template <class Cut, class T>
  __device__ void compute(const HeadOfPass<T>& head, float factor, int first_query, int first_key,
                          AttentionTiles& tiles) {
    add_row_products<Cut>(head.queries, first_query, head.keys, first_key, tiles, shares);
    add_row_products<Cut>(head.d_outputs, first_query, head.values, first_key, tiles, d_scores);
    EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
      const int query = first_query + shares.row() + r, key = first_key + shares.column();
      const bool inside = query < head.queries.positions;
      const float log_sum = inside ? head.log_sums[query] : 0.0f, dot = inside ? head.dots[query] : 0.0f;
      const Lanes<4> kept = head.factors.drops() ? head.factors.four(query, key) : Lanes<4>{{1, 1, 1, 1}};
      EAVE_UNROLL for (int c = 0; c < shares.kAcross; ++c) {
        const bool sees = inside && key + c <= query;
        const float share = sees ? elementwise::exp(shares.at[r][c] * factor - log_sum) : 0.0f;
        shares.at[r][c] = share * kept.at[c];
        d_scores.at[r][c] = sees ? share * (d_scores.at[r][c] * kept.at[c] - dot) * factor : 0.0f;
      }
    }
  }
};

template <class Cut, class T>
__global__ void __launch_bounds__(kBlock, Cut::kBlocks) attend_back_to_queries(const AttentionGradientPass<T> pass) {
  __shared__ AttentionTiles tiles;
  const Attention& s = pass.shape;
  const TilePlace at = tile_place(s, s.heads, true);
  const HeadOfPass<T> head(pass, at.sample, at.head);
  multiply_rows(output_rows(s, pass.output, at.sample, at.head), head, at.first, tiles);
  HeadPart<Cut> d_queries;
  for (int first = 0; first <= at.first; first += kTilePositions) {
    ShareGradients gradients;
    gradients.compute<Cut>(head, pass.factor, at.first, first, tiles);
    keep_by_key(gradients.d_scores, tiles.scores);
    d_queries.add_mixture(head.keys, first, tiles);
  }
  d_queries.write(input_rows(s, pass.d_input, at.sample, at.head), at.first);
}

template <class Cut, class T>
__global__ void __launch_bounds__(kBlock, Cut::kBlocks) attend_back_to_keys(const AttentionGradientPass<T> pass) {
  __shared__ AttentionTiles tiles;
  const Attention& s = pass.shape;
  const TilePlace at = tile_place(s, s.groups, false);
  const int heads = s.heads / s.groups;
  HeadPart<Cut> d_keys, d_values;
  for (int i = 0; i < heads; ++i) {
    const HeadOfPass<T> head(pass, at.sample, at.head * heads + i);
    for (int first = at.first; first < s.positions; first += kTilePositions) {
      ShareGradients gradients;
      gradients.compute<Cut>(head, pass.factor, first, at.first, tiles);
      keep_by_query(gradients.shares, tiles.scores);
      d_values.add_mixture(head.d_outputs, first, tiles);
      keep_by_query(gradients.d_scores, tiles.scores);
      d_keys.add_mixture(head.queries, first, tiles);
    }
  }
  d_keys.write(input_rows(s, pass.d_input, at.sample, s.heads + at.head), at.first);
  d_values.write(input_rows(s, pass.d_input, at.sample, s.heads + s.groups + at.head), at.first);
}

template <class T>
void enqueue_gradient(cudaStream_t stream, const AttentionGradientPass<T>& pass) {
  const Attention& s = pass.shape;
  with_channels(s.width, [&]<class Cut>(Cut) {
    EAVE_LAUNCH((attend_back_to_queries<Cut, T>), tile_grid(s, s.heads), dim3(kBlock), stream, pass);
    EAVE_LAUNCH((attend_back_to_keys<Cut, T>), tile_grid(s, s.groups), dim3(kBlock), stream, pass);
  });
}

}  // namespace

template <class T>
void attention_gradient(cudaStream_t stream, const Attention& shape, const ShareDropout& dropout, const T* input,
                        const T* output, const float* log_sums, const T* d_output, T* d_input, float* scratch) {
  if (shape.samples == 0) return;
  const float factor = 1 / std::sqrt(static_cast<float>(shape.width));
  enqueue_gradient<T>(stream, {shape, rule_of(dropout), factor, input, output, log_sums, d_output, d_input, scratch});
}

template void attention_gradient(cudaStream_t, const Attention&, const ShareDropout&, const float*, const float*,
                                 const float*, const float*, float*, float*);
template void attention_gradient(cudaStream_t, const Attention&, const ShareDropout&, const Half*, const Half*,
                                 const float*, const Half*, Half*, float*);

}  // namespace eave::cuda
