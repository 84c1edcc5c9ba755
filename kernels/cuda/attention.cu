#include "kernels/cuda/attention.h"
#include "kernels/cuda/support/attention_tiles.h"
#include "kernels/cuda/support/share_dropout.h"

namespace eave::cuda {
namespace {

template <class T>
struct AttentionPass {
  Attention shape;
  ShareRule dropout;
  float factor;  // of scores
  const T* input;
  T* output;
  float* log_sums;
};

// The softmax of a thread's rows over the keys so far. kTileSide threads have the same rows, each with its own keys.
struct RunningSoftmax {
  float largest[kTileDown], sum[kTileDown] = {};  // `largest` of all keys, `sum` of the thread's

  __device__ RunningSoftmax() {
    for (float& value : largest) value = -INFINITY;
  }

  // Combines numbers of the threads with the same rows, in the order of the threads. All threads of the block call it,
  // and wait for each other before the next call.
  template <class Combine>
  __device__ static void combine(float (&own)[kTileDown], AttentionTiles& tiles, const Combine& with) {
    const int row = Scores::row(), x = static_cast<int>(threadIdx.x) % kTileSide;
    store_four(&tiles.of_threads[x][row], own[0], own[1], own[2], own[3]);
    __syncthreads();
    EAVE_UNROLL for (int i = 0; i < kTileSide; ++i) {
      const Lanes<kTileDown> other = load<kTileDown>(&tiles.of_threads[i][row]);
      EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) own[r] = i == 0 ? other.at[r] : with(own[r], other.at[r]);
    }
  }

  // Scores become exponentials, and 0 for keys behind the query. `ahead` is the number of positions from the first key
  // of the tile to the first query. Returns the factors of what was summed before this tile.
  __device__ Lanes<kTileDown> take(Scores& scores, int ahead, float factor, AttentionTiles& tiles) {
    const auto sees = [&](int r, int c) { return scores.column() + c <= ahead + scores.row() + r; };
    const auto larger = [](float a, float b) { return b > a ? b : a; };
    float now[kTileDown];
    EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
      now[r] = largest[r];
      EAVE_UNROLL for (int c = 0; c < scores.kAcross; ++c) {
        if (sees(r, c)) now[r] = larger(now[r], scores.at[r][c]);
      }
    }
    combine(now, tiles, larger);
    Lanes<kTileDown> before;
    EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
      before.at[r] = elementwise::exp((largest[r] - now[r]) * factor);
      largest[r] = now[r];
      sum[r] *= before.at[r];
      EAVE_UNROLL for (int c = 0; c < scores.kAcross; ++c) {
        float& score = scores.at[r][c];
        score = sees(r, c) ? elementwise::exp((score - now[r]) * factor) : 0.0f;
        sum[r] += score;
      }
    }
    return before;
  }
};

__device__ inline void drop_shares(const ShareFactors& factors, int first_query, int first_key, Scores& shares) {
  if (!factors.drops()) return;
  EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
    const Lanes<4> four = factors.four(first_query + shares.row() + r, first_key + shares.column());
    EAVE_UNROLL for (int c = 0; c < shares.kAcross; ++c) shares.at[r][c] *= four.at[c];
  }
}

template <class Cut, class T>
__global__ void __launch_bounds__(kBlock, Cut::kBlocks) attend(const AttentionPass<T> pass) {
  __shared__ AttentionTiles tiles;
  const Attention& s = pass.shape;
  const TilePlace at = tile_place(s, s.heads, true);
  const int group = s.heads + at.head / (s.heads / s.groups);
  const auto queries = input_rows(s, pass.input, at.sample, at.head);
  const auto keys = input_rows(s, pass.input, at.sample, group);
  const auto values = input_rows(s, pass.input, at.sample, group + s.groups);
  const ShareFactors factors(pass.dropout, s, at.sample, at.head);
  RunningSoftmax softmax;
  HeadPart<Cut> result;
  for (int first = 0; first <= at.first; first += kTilePositions) {
    Scores scores;
    add_row_products<Cut>(queries, at.first, keys, first, tiles, scores);
    result.scale(softmax.take(scores, at.first - first, pass.factor, tiles));
    drop_shares(factors, at.first, first, scores);
    keep_by_key(scores, tiles.scores);
    result.add_mixture(values, first, tiles);
  }
  softmax.combine(softmax.sum, tiles, [](float a, float b) { return a + b; });
  Lanes<kTileDown> share;
  EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
    share.at[r] = 1.0f / softmax.sum[r];
    const int position = at.first + Scores::row() + r;
    if (pass.log_sums == nullptr || position >= s.positions || threadIdx.x % kTileSide != 0) continue;
    pass.log_sums[(at.sample * s.heads + at.head) * s.positions + position] =
        softmax.largest[r] * pass.factor + logf(softmax.sum[r]);
  }
  result.scale(share);
  result.write(output_rows(s, pass.output, at.sample, at.head), at.first);
}

template <class T>
void enqueue(cudaStream_t stream, const AttentionPass<T>& pass) {
  with_channels(pass.shape.width, [&]<class Cut>(Cut) {
    EAVE_LAUNCH((attend<Cut, T>), tile_grid(pass.shape, pass.shape.heads), dim3(kBlock), stream, pass);
  });
}

}  // namespace

template <class T>
void attention(cudaStream_t stream, const Attention& shape, const ShareDropout& dropout, const T* input, T* output,
               float* log_sums) {
  if (shape.samples == 0) return;
  const float factor = 1 / std::sqrt(static_cast<float>(shape.width));
  enqueue<T>(stream, {shape, rule_of(dropout), factor, input, output, log_sums});
}

template void attention(cudaStream_t, const Attention&, const ShareDropout&, const float*, float*, float*);
template void attention(cudaStream_t, const Attention&, const ShareDropout&, const Half*, Half*, float*);

}  // namespace eave::cuda
