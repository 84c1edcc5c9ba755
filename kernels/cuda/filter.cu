#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"

namespace eave::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kTileRows = 8;  // rows of threads; each thread moves kTile / kTileRows values

// Describes matrices of rows × columns that are transposed one by one. The other members are strides, in values.
struct Transposition {
  std::int64_t rows, columns;
  std::int64_t from_matrix, from_row;
  std::int64_t into_matrix, into_row;
};

// Each tile goes through shared memory, so that reads and writes both follow rows.
template <class From, class Into>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose(const Transposition t, const From* __restrict__ from, Into* __restrict__ into) {
  __shared__ float tile[kTile][kTile + 1];  // one column more, so that the values of a column lie in different banks
  // Tiles follow one another along x, the only side of a grid that may be long: the tiles of a row of one matrix, then
  // those of the next matrix.
  const std::int64_t across = (t.columns + kTile - 1) / kTile;
  const std::int64_t matrix = blockIdx.x / across;
  const std::int64_t row = std::int64_t{blockIdx.y} * kTile, column = blockIdx.x % across * kTile;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int i = y; i < kTile; i += kTileRows) {
    if (row + i < t.rows && column + x < t.columns)
      tile[i][x] = to_float(from[matrix * t.from_matrix + (row + i) * t.from_row + column + x]);
  }
  __syncthreads();
  for (int i = y; i < kTile; i += kTileRows) {
    if (column + i < t.columns && row + x < t.rows)
      into[matrix * t.into_matrix + (column + i) * t.into_row + row + x] = from_float<Into>(tile[x][i]);
  }
}

std::int64_t tiles(std::int64_t size) { return (size + kTile - 1) / kTile; }

template <class From, class Into>
void enqueue(cudaStream_t stream, std::int64_t matrices, const Transposition& t, const From* from, Into* into) {
  dim3 grid = grid_of(tiles(t.columns) * matrices);
  grid.y = static_cast<unsigned>(tiles(t.rows));
  EAVE_LAUNCH((transpose<From, Into>), grid, dim3(kTile, kTileRows), stream, t, from, into);
}

}  // namespace

template <class T>
void pack_filter(cudaStream_t stream, const FilterSize& s, const T* filter, T* packed) {
  const Transposition t = {s.inputs, s.outputs, s.inputs * s.outputs, s.outputs, s.inputs, s.taps * s.inputs};
  enqueue(stream, s.taps, t, filter, packed);
}

template <class T>
void unpack_filter(cudaStream_t stream, const FilterSize& s, const T* packed, float* filter) {
  const Transposition t = {s.outputs, s.inputs, s.inputs, s.taps * s.inputs, s.inputs * s.outputs, s.outputs};
  enqueue(stream, s.taps, t, packed, filter);
}

template void pack_filter(cudaStream_t, const FilterSize&, const float*, float*);
template void pack_filter(cudaStream_t, const FilterSize&, const Half*, Half*);
template void unpack_filter(cudaStream_t, const FilterSize&, const float*, float*);
template void unpack_filter(cudaStream_t, const FilterSize&, const Half*, float*);

}  // namespace eave::cuda
