// Attention on the CPU. Few scores are in memory at a time: the products of all keys with a panel of the queries that
// see them. Backward goes from the last panel, which sees all keys, to the first. So the first products that it
// writes to the gradients of keys and values reach all of them, and the others are added. With several threads, each
// takes whole heads, or in backward all heads of a group: so the bits do not depend on the number of threads.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_products.h"
#include "kernels/cpu/tokens.h"

namespace eave {
namespace {

constexpr std::int64_t kPanelRows = cpu::ScorePanel::kQueries;

// The matrices of one head: a row is a position.
struct Head {
  const float *queries, *keys, *values;
};
struct HeadGradients {
  float *queries, *keys, *values;
};

class CpuAttention final : public AttentionShape::Plan {
 public:
  CpuAttention(const CpuContext& context, const AttentionShape& shape)
      : multiplier_(context.kernels_of_thread),
        threads_(context.kernels_of_thread == nullptr ? 1 : context.threads),
        pass_(context.pass),
        s_(shape),
        factor_(1 / std::sqrt(static_cast<float>(shape.width))) {
    for (std::int64_t first = 0; first < s_.positions; first += kPanelRows) {
      const Panel panel = panel_at(first);
      for (const cpu::Product& product :
           {scores(panel, nullptr, nullptr, 0, nullptr), mixture(panel, nullptr, nullptr, 0, nullptr, 0),
            back_to_rows(panel, nullptr, nullptr, 0, nullptr, false),
            back_to_rows(panel, nullptr, nullptr, 0, nullptr, true)}) {
        product_scratch_ = std::max(product_scratch_, multiplier_.scratch(product));
      }
    }
  }

  std::int64_t saved_size() const override { return s_.samples * s_.heads * s_.positions; }
  std::int64_t scratch_size() const override { return threads_ * scratch_of_thread(); }

  void forward(const AttentionForward& call) override;
  void backward(const AttentionBackward& call) override;

 private:
  // The rows from `first` on, which see `keys` keys.
  struct Panel {
    std::int64_t first, rows, keys;
  };
  struct Place {
    std::int64_t sample, head;
  };
  struct Scratch {
    float *scores, *d_scores, *dropout, *dots, *row, *product;
  };

  std::int64_t scratch_of_thread() const {
    const std::int64_t size = count_matrices() * matrix_size() + kPanelRows + row_size() + product_scratch_;
    return (size + 15) / 16 * 16;
  }
  std::int64_t matrix_size() const { return kPanelRows * s_.positions; }
  std::int64_t row_size() const { return s_.dropout > 0 ? s_.positions : 0; }  // of the factors of one query
  int count_matrices() const { return s_.dropout > 0 ? 3 : 2; }  // of a panel: scores, their gradients, dropout
  Panel panel_at(std::int64_t first) const {
    const std::int64_t rows = std::min(kPanelRows, s_.positions - first);
    return {first, rows, first + rows};
  }
  Scratch scratch_of(int thread, Slice of_all) const {
    float* scores = of_all.data() + thread * scratch_of_thread();
    float* d_scores = scores + matrix_size();
    float* dropout = d_scores + matrix_size();
    float* dots = scores + count_matrices() * matrix_size();
    float* row = dots + kPanelRows;
    return {scores, d_scores, s_.dropout > 0 ? dropout : nullptr, dots, row, row + row_size()};
  }
  template <class AnyHead, class Float>
  AnyHead head_of(Float* sample, std::int64_t head) const {
    const std::int64_t group = head / (s_.heads / s_.groups);
    return {sample + head * s_.width, sample + (s_.heads + group) * s_.width,
            sample + (s_.heads + s_.groups + group) * s_.width};
  }

  // scores = keys · rows of queriesᵀ, or d_shares = values · rows of d_outputᵀ: a row for each key.
  cpu::Product scores(const Panel& panel, const float* keys, const float* rows, std::int64_t rows_stride,
                      float* result) const {
    cpu::Product p;
    p.rows = panel.keys, p.columns = panel.rows, p.depth = s_.width;
    p.a = keys, p.a_stride = s_.input_row();
    p.b = rows, p.b_stride = rows_stride, p.b_transposed = true;
    p.c = result, p.c_stride = kPanelRows;
    return p;
  }
  // The panel's rows of output or of the queries' gradient: scoresᵀ · values or keys.
  cpu::Product mixture(const Panel& panel, const float* scores, const float* values, std::int64_t values_stride,
                       float* result, std::int64_t result_stride) const {
    cpu::Product p;
    p.rows = panel.rows, p.columns = s_.width, p.depth = panel.keys;
    p.a = scores, p.a_stride = kPanelRows, p.a_transposed = true;
    p.b = values, p.b_stride = values_stride;
    p.c = result, p.c_stride = result_stride;
    return p;
  }
  // The gradient of keys or values: scores · rows of queries or d_output.
  cpu::Product back_to_rows(const Panel& panel, const float* scores, const float* rows, std::int64_t rows_stride,
                            float* gradient, bool adds) const {
    cpu::Product p;
    p.rows = panel.keys, p.columns = s_.width, p.depth = panel.rows;
    p.a = scores, p.a_stride = kPanelRows;
    p.b = rows, p.b_stride = rows_stride;
    p.c = gradient, p.c_stride = s_.input_row();
    p.accumulate = adds;
    return p;
  }
  void multiply(const cpu::Product& product, const Scratch& scratch) const {
    multiplier_.run(product, scratch.product, "attention");
  }

  void write_dropout(const Place& place, const Panel& panel, const Scratch& scratch) const;
  void forward_head(const Place& place, const Head& head, float* output, float* log_sums, const Scratch& scratch) const;
  void backward_head(const Place& place, const Head& head, const float* output, const float* log_sums,
                     const float* d_output, const HeadGradients& gradients, bool adds, const Scratch& scratch) const;

  // Calls work(index, scratch) for `count` indices. The threads share them.
  template <class Work>
  void for_each(std::int64_t count, Slice scratch, const Work& work) const {
    if (threads_ == 1) {
      for (std::int64_t i = 0; i < count; ++i) work(i, scratch_of(0, scratch));
      return;
    }
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t i = 0; i < count; ++i) work(i, scratch_of(omp_get_thread_num(), scratch));
  }

  Multiplier multiplier_;
  int threads_;
  const CpuPass& pass_;
  AttentionShape s_;
  float factor_;  // of scores
  std::int64_t product_scratch_ = 0;
};

void CpuAttention::forward(const AttentionForward& call) {
  for_each(s_.samples * s_.heads, call.scratch, [&](std::int64_t i, const Scratch& scratch) {
    const Place place{i / s_.heads, i % s_.heads};
    const float* input = call.input.data() + place.sample * s_.positions * s_.input_row();
    float* output = call.output.data() + place.sample * s_.positions * s_.output_row();
    float* log_sums = call.saved.empty() ? nullptr : call.saved.data() + i * s_.positions;
    forward_head(place, head_of<Head>(input, place.head), output + place.head * s_.width, log_sums, scratch);
  });
}

// The factors of a panel's shares. A row of the matrix of positions × positions begins a block of the random numbers.
void CpuAttention::write_dropout(const Place& place, const Panel& panel, const Scratch& scratch) const {
  const Batch& batch = pass_.inputs->batch;
  const RandomKey key{pass_.inputs->seed, Purpose::kDropout, s_.layer};
  const std::uint64_t counter = dropout_counter(batch, place.sample);
  const std::int64_t blocks = (s_.positions + 7) / 8;
  for (std::int64_t i = 0; i < panel.rows; ++i) {
    const auto row = static_cast<std::uint64_t>((place.head * s_.positions + panel.first + i) * blocks);
    const std::int64_t seen = panel.first + i + 1;
    cpu::dropout_factors(key, counter, row, s_.dropout, seen, scratch.row);
    for (std::int64_t k = 0; k < panel.keys; ++k) scratch.dropout[k * kPanelRows + i] = k < seen ? scratch.row[k] : 0;
  }
}

void CpuAttention::forward_head(const Place& place, const Head& head, float* output, float* log_sums,
                                const Scratch& scratch) const {
  const std::int64_t in = s_.input_row(), out = s_.output_row();
  for (std::int64_t first = 0; first < s_.positions; first += kPanelRows) {
    const Panel panel = panel_at(first);
    multiply(scores(panel, head.keys, head.queries + first * in, in, scratch.scores), scratch);
    cpu::softmax_scores({panel.rows, first, factor_}, scratch.scores, log_sums == nullptr ? nullptr : log_sums + first);
    // Evaluation saves no sums.
    if (scratch.dropout != nullptr && log_sums != nullptr) {
      write_dropout(place, panel, scratch);
      cpu::multiply(scratch.scores, scratch.dropout, scratch.scores, panel.keys * kPanelRows);
    }
    multiply(mixture(panel, scratch.scores, head.values, in, output + first * out, out), scratch);
  }
}

void CpuAttention::backward(const AttentionBackward& call) {
  const std::int64_t heads_of_group = s_.heads / s_.groups;
  for_each(s_.samples * s_.groups, call.scratch, [&](std::int64_t i, const Scratch& scratch) {
    const std::int64_t sample = i / s_.groups, at = sample * s_.positions, first = i % s_.groups * heads_of_group;
    for (std::int64_t h = first; h < first + heads_of_group; ++h) {
      const std::int64_t place = at * s_.output_row() + h * s_.width;
      backward_head({sample, h}, head_of<Head>(call.input.data() + at * s_.input_row(), h), call.output.data() + place,
                    call.saved.data() + (sample * s_.heads + h) * s_.positions, call.d_output.data() + place,
                    head_of<HeadGradients>(call.d_input.data() + at * s_.input_row(), h), h > first, scratch);
    }
  });
}

void CpuAttention::backward_head(const Place& place, const Head& head, const float* output, const float* log_sums,
                                 const float* d_output, const HeadGradients& gradients, bool adds,
                                 const Scratch& scratch) const {
  const std::int64_t in = s_.input_row(), out = s_.output_row();
  for (std::int64_t first = (s_.positions - 1) / kPanelRows * kPanelRows; first >= 0; first -= kPanelRows) {
    const Panel panel = panel_at(first);
    const float *queries = head.queries + first * in, *d_rows = d_output + first * out;
    cpu::dots_of_rows(output + first * out, d_rows, out, panel.rows, s_.width, scratch.dots);
    multiply(scores(panel, head.keys, queries, in, scratch.scores), scratch);
    multiply(scores(panel, head.values, d_rows, out, scratch.d_scores), scratch);
    if (scratch.dropout != nullptr) write_dropout(place, panel, scratch);
    cpu::softmax_scores_gradient({panel.rows, first, factor_}, scratch.scores, log_sums + first, scratch.dots,
                                 scratch.dropout, scratch.d_scores);
    multiply(mixture(panel, scratch.d_scores, head.keys, in, gradients.queries + first * in, in), scratch);
    multiply(back_to_rows(panel, scratch.d_scores, queries, in, gradients.keys, adds), scratch);
    multiply(back_to_rows(panel, scratch.scores, d_rows, out, gradients.values, adds), scratch);
    adds = true;
  }
}

}  // namespace

std::unique_ptr<AttentionShape::Plan> make_cpu_plan(CpuContext& context, const AttentionShape& shape) {
  return std::make_unique<CpuAttention>(context, shape);
}

}  // namespace eave
