// The gradient of a table: the rows of tokens are sorted by token, then by row, and each token's rows are added in that
// order. Chunks are sorted in shared memory, and merged pairwise.
#include <utility>

#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/rows.h"
#include "kernels/cuda/tokens.h"

namespace eave::cuda {
namespace {

using Key = std::uint64_t;          // token · 2^32 + row: no two are equal
constexpr int kChunk = 4 * kBlock;  // keys that a block sorts
constexpr Key kNoKey = ~Key{0};     // fills the last chunk

__device__ __host__ inline std::int64_t token_rows(const Embedding& shape) { return shape.samples * shape.positions; }
std::int64_t chunks_of(const Embedding& shape) { return (token_rows(shape) + kChunk - 1) / kChunk; }

template <class T>
__global__ void __launch_bounds__(kBlock)
    look_up(const Embedding shape, const float* tokens, const float* table, const float* place_table, T* output) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= token_rows(shape)) return;
  const float* const of_token = table + static_cast<std::int64_t>(tokens[row]) * shape.width;
  const float* const of_place = place_table == nullptr ? nullptr : place_table + row % shape.positions * shape.width;
  for (std::int64_t c = threadIdx.x; c < shape.width; c += blockDim.x) {
    const float value = of_place == nullptr ? of_token[c] : of_token[c] + of_place[c];
    output[row * shape.width + c] = from_float<T>(value);
  }
}

// Bitonic sort (Batcher 1968).
__global__ void __launch_bounds__(kBlock) sort_chunks(const Embedding shape, const float* tokens, Key* keys) {
  __shared__ Key chunk[kChunk];
  const std::int64_t begin = std::int64_t{blockIdx.x} * kChunk;
  for (int i = static_cast<int>(threadIdx.x); i < kChunk; i += kBlock) {
    const std::int64_t row = begin + i;
    chunk[i] = row < token_rows(shape) ? static_cast<Key>(tokens[row]) << 32 | static_cast<Key>(row) : kNoKey;
  }
  for (int run = 2; run <= kChunk; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int pair = static_cast<int>(threadIdx.x); pair < kChunk / 2; pair += kBlock) {
        const int low = pair / distance * 2 * distance + pair % distance, high = low + distance;
        const Key a = chunk[low], b = chunk[high];
        const bool rises = (low & run) == 0;
        if ((a > b) == rises) {
          chunk[low] = b;
          chunk[high] = a;
        }
      }
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kChunk; i += kBlock) keys[begin + i] = chunk[i];
}

// The first index from `begin` on, below `end`, whose key is at least `key`; else `end`. The keys are sorted.
__device__ inline std::int64_t place_of(const Key* keys, std::int64_t begin, std::int64_t end, Key key) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (keys[middle] < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Merges pairs of sorted runs of `run` keys. A key's place is its place in its own run plus the number of smaller keys
// in the other run. All fillers are in the last run.
__global__ void __launch_bounds__(kBlock)
    merge_runs(const Key* keys, const std::int64_t run, const std::int64_t size, Key* merged) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= size) return;
  const std::int64_t pair = i / (2 * run) * 2 * run, middle = pair + run < size ? pair + run : size;
  const bool is_first = i < middle;
  const std::int64_t end = pair + 2 * run < size ? pair + 2 * run : size;
  const Key key = keys[i];
  const std::int64_t begin = is_first ? middle : pair;
  const std::int64_t smaller = place_of(keys, begin, is_first ? end : middle, key) - begin;
  merged[(is_first ? i : i - middle + pair) + smaller] = key;
}

// blockDim.x threads share a key. The first key of a token adds all rows of it.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_rows(const Embedding shape, const Key* keys, const T* d_output, float* d_table) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y, rows = token_rows(shape);
  if (first >= rows) return;
  const Key token = keys[first] >> 32;
  if (first > 0 && keys[first - 1] >> 32 == token) return;
  const std::int64_t last = place_of(keys, first, rows, (token + 1) << 32);
  for (std::int64_t c = threadIdx.x; c < shape.width; c += blockDim.x) {
    float* const into = d_table + static_cast<std::int64_t>(token) * shape.width + c;
    float sum = *into;
    for (std::int64_t i = first; i < last; ++i) {
      sum += to_float(d_output[static_cast<std::int64_t>(keys[i] & 0xffffffffu) * shape.width + c]);
    }
    *into = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) sum_samples(const Embedding shape, const T* d_output, float* d_places) {
  const std::int64_t place = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (place >= shape.places) return;
  for (std::int64_t c = threadIdx.x; c < shape.width; c += blockDim.x) {
    float sum = 0;
    for (std::int64_t sample = 0; place < shape.positions && sample < shape.samples; ++sample) {
      sum += to_float(d_output[(sample * shape.positions + place) * shape.width + c]);
    }
    d_places[place * shape.width + c] = sum;
  }
}

// Returns the sorted keys.
const Key* sort_rows(cudaStream_t stream, const Embedding& shape, const float* tokens, Key* keys) {
  const std::int64_t size = chunks_of(shape) * kChunk;
  Key* other = keys + size;
  EAVE_LAUNCH(sort_chunks, grid_of(chunks_of(shape)), dim3(kBlock), stream, shape, tokens, keys);
  for (std::int64_t run = kChunk; run < size; run *= 2) {
    EAVE_LAUNCH(merge_runs, grid_of(blocks_for(size)), dim3(kBlock), stream, keys, run, size, other);
    std::swap(keys, other);
  }
  return keys;
}

}  // namespace

template <class T>
void embed(cudaStream_t stream, const Embedding& shape, const float* tokens, const float* table,
           const float* place_table, T* output) {
  if (token_rows(shape) == 0) return;
  const RowLaunch rows = row_launch(token_rows(shape), shape.width);
  EAVE_LAUNCH(look_up<T>, rows.grid, rows.block, stream, shape, tokens, table, place_table, output);
}

std::int64_t embed_gradient_scratch(const Embedding& shape) {
  return 2 * chunks_of(shape) * kChunk * static_cast<std::int64_t>(sizeof(Key));
}

template <class T>
void embed_gradient(cudaStream_t stream, const Embedding& shape, const float* tokens, const T* d_output, bool adds,
                    float* d_table, float* d_places, void* scratch) {
  const auto bytes = static_cast<std::size_t>(shape.vocabulary * shape.width) * sizeof(float);
  if (!adds) check_launch(cudaMemsetAsync(d_table, 0, bytes, stream), "cudaMemsetAsync");
  if (d_places != nullptr) {
    const RowLaunch places = row_launch(shape.places, shape.width);
    EAVE_LAUNCH(sum_samples<T>, places.grid, places.block, stream, shape, d_output, d_places);
  }
  if (token_rows(shape) == 0) return;
  const Key* const keys = sort_rows(stream, shape, tokens, static_cast<Key*>(scratch));
  const RowLaunch rows = row_launch(token_rows(shape), shape.width);
  EAVE_LAUNCH(add_rows<T>, rows.grid, rows.block, stream, shape, keys, d_output, d_table);
}

template void embed(cudaStream_t, const Embedding&, const float*, const float*, const float*, float*);
template void embed(cudaStream_t, const Embedding&, const float*, const float*, const float*, Half*);
template void embed_gradient(cudaStream_t, const Embedding&, const float*, const float*, bool, float*, float*, void*);
template void embed_gradient(cudaStream_t, const Embedding&, const float*, const Half*, bool, float*, float*, void*);

}  // namespace eave::cuda
