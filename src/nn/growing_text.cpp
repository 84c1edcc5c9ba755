#include "nn/growing_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "eave/check.h"
#include "nn/step_plan.h"

namespace eave {
namespace {

constexpr std::int64_t kMostRows = 64;  // tokens that are appended together: their activations stay small

ConstSlice last_row(ConstSlice values, std::int64_t row) { return values.last(static_cast<std::size_t>(row)); }

// With several sums, which the compiler keeps in one vector register.
float product_of(const float* a, const float* b, std::int64_t count) {
  constexpr std::int64_t kSums = 16;
  std::array<float, kSums> sums{};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t j = 0; j < kSums; ++j) sums[static_cast<std::size_t>(j)] += a[i + j] * b[i + j];
  }
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float each : sums) sum += each;
  return sum;
}

// Softmax in place. The largest value is subtracted first, so that no power overflows.
void turn_into_shares(Slice scores) {
  const float largest = *std::ranges::max_element(scores);
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score - largest);
  for (float& score : scores) score /= sum;
}

}  // namespace

GrowingText::GrowingText(const Graph& graph, Compute& compute, ConstSlice parameters, std::int64_t context)
    : graph_(graph), compute_(compute), parameters_(parameters), context_(context) {
  EAVE_CHECK(compute.device().kind() == DeviceKind::kCpu, "text grows on the CPU only");
  EAVE_CHECK(graph.input.size() == 1 && std::ssize(parameters) >= graph.parameter_size, "a graph of one token");
  if (!graph.reads_tokens)
    throw Error(ExitCode::kConfiguration, "model: the model does not predict tokens, so it cannot generate text");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlaceRole role = graph.nodes[i].layer->place_role();
    if (role.kind != PlaceRole::Kind::kAttention) continue;
    caches_[i].stored = role.heads.groups * role.heads.width;
  }
}

// A context may be of 131,072 tokens, and most texts are short, so memory follows the text.
void GrowingText::make_room(std::int64_t tokens) {
  if (tokens <= places_) return;
  places_ = std::min(context_, std::max(2 * places_, (tokens + kMostRows - 1) / kMostRows * kMostRows));
  for (auto& [node, cache] : caches_) {
    cache.keys.resize(static_cast<std::size_t>(places_ * cache.stored));
    cache.values.resize(static_cast<std::size_t>(places_ * cache.stored));
  }
  scores_.resize(static_cast<std::size_t>(places_));
}

ConstSlice GrowingText::parameters_of(std::size_t node) const {
  const int lender = graph_.nodes[node].borrows;
  const Node& owner = graph_.nodes[lender < 0 ? node : static_cast<std::size_t>(lender)];
  return of_node(parameters_, owner.parameters_at, owner.parameters_size);
}

// Only the last token's logits are wanted. With a vocabulary of 50,000 the others would cost most of the time.
std::int64_t GrowingText::rows_in(std::size_t node, const Rows& rows) const {
  const bool is_last = node + 1 == graph_.nodes.size();
  return is_last && graph_.nodes[node].layer->place_role().kind == PlaceRole::Kind::kAlone ? 1 : rows.count;
}

GrowingText::Rows& GrowingText::rows_of(std::int64_t count) {
  Rows& rows = count == 1 ? one_ : several_;
  if (rows.count == count) return rows;
  rows = {};
  rows.count = count;
  std::int64_t scratch = 0, projected = 0;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const std::int64_t of_node = rows_in(i, rows), size = of_node * node.layer->output().size();
    const bool is_alone = node.layer->place_role().kind == PlaceRole::Kind::kAlone;
    rows.plans.push_back(is_alone ? node.layer->plan(compute_, {of_node, false, false}) : nullptr);
    rows.projections.push_back(node.has_projection() ? compute_.plan(node.projection(of_node)) : nullptr);
    rows.outputs.emplace_back(static_cast<std::size_t>(size));
    if (is_alone) scratch = std::max(scratch, rows.plans.back()->scratch_size());
    if (node.has_projection()) projected = std::max(projected, size);
  }
  rows.scratch.resize(static_cast<std::size_t>(scratch));
  rows.projected.resize(static_cast<std::size_t>(projected));
  return rows;
}

ConstSlice GrowingText::append(std::span<const std::int32_t> tokens) {
  EAVE_CHECK(!tokens.empty() && size_ + std::ssize(tokens) <= context_, "tokens that have a place");
  make_room(size_ + std::ssize(tokens));
  ConstSlice logits;
  while (!tokens.empty()) {
    const std::size_t count = std::min(tokens.size(), static_cast<std::size_t>(kMostRows));
    logits = append_rows(tokens.first(count));
    tokens = tokens.subspan(count);
  }
  return logits;
}

ConstSlice GrowingText::append_rows(std::span<const std::int32_t> tokens) {
  Rows& rows = rows_of(std::ssize(tokens));
  Batch batch;
  batch.samples = rows.count;
  compute_.begin_pass({}, {batch, 0, 0});
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) run(i, rows, tokens);
  compute_.end_pass();
  size_ += rows.count;
  return last_row(rows.outputs.back(), graph_.nodes.back().layer->output().size());
}

void GrowingText::run(std::size_t index, Rows& rows, std::span<const std::int32_t> tokens) {
  const Node& node = graph_.nodes[index];
  const PlaceRole role = node.layer->place_role();
  if (role.kind == PlaceRole::Kind::kAlone) return run_layer(index, rows);
  if (role.kind == PlaceRole::Kind::kTable) return look_up(index, rows, tokens);
  EAVE_CHECK(node.source > 0 && node.skip < 0, "a layer that reads another's output, and adds nothing to its own");
  const ConstSlice input = rows.outputs[static_cast<std::size_t>(node.source) - 1];
  if (role.kind == PlaceRole::Kind::kRotary) return turn(role, input, rows.outputs[index], rows.count);
  attend(role.heads, caches_.at(index), input, rows.outputs[index], rows.count);
}

void GrowingText::run_layer(std::size_t index, Rows& rows) {
  const Node& node = graph_.nodes[index];
  const std::int64_t count = rows_in(index, rows);
  EAVE_CHECK(node.source > 0, "the first layer is an embedding");
  const ConstSlice input = last_row(rows.outputs[static_cast<std::size_t>(node.source) - 1], count * node.input.size());
  ConstSlice skip;
  if (node.skip > 0) {
    skip = last_row(rows.outputs[static_cast<std::size_t>(node.skip) - 1], count * node.skip_shape.size());
    if (rows.projections[index]) {
      const Slice projected = Slice(rows.projected).first(rows.outputs[index].size());
      rows.projections[index]->forward({skip, projected, {}});
      skip = projected;
    }
  }
  rows.plans[index]->forward(
      {false, input, skip, parameters_of(index), {}, {}, {}, rows.outputs[index], {}, rows.scratch});
}

void GrowingText::look_up(std::size_t index, Rows& rows, std::span<const std::int32_t> tokens) const {
  const std::vector<TensorInfo> tensors = graph_.nodes[index].layer->parameters();
  const ConstSlice table = part(parameters_of(index), tensors[0]);
  const auto width = static_cast<std::size_t>(tensors[0].shape[1]);
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    EAVE_CHECK(tokens[row] >= 0 && tokens[row] < tensors[0].shape[0], "token " + std::to_string(tokens[row]));
    const ConstSlice vector = table.subspan(static_cast<std::size_t>(tokens[row]) * width, width);
    const Slice output = Slice(rows.outputs[index]).subspan(row * width, width);
    std::ranges::copy(vector, output.begin());
    if (tensors.size() < 2) continue;
    const std::size_t place = static_cast<std::size_t>(size_) + row;
    const ConstSlice of_place = part(parameters_of(index), tensors[1]).subspan(place * width, width);
    for (std::size_t i = 0; i < width; ++i) output[i] += of_place[i];
  }
}

// As RotaryShape says, at the places from size_ on.
void GrowingText::turn(const PlaceRole& role, ConstSlice input, Slice output, std::int64_t rows) const {
  const AttentionShape& shape = role.heads;
  const std::int64_t half = shape.width / 2, heads = shape.heads + shape.groups;
  std::ranges::copy(input, output.begin());
  for (std::int64_t i = 0; i < half; ++i) {
    const double step = role.angles.of_pair(i, shape.width);
    for (std::int64_t row = 0; row < rows; ++row) {
      const double angle = static_cast<double>(size_ + row) * step;
      const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      for (std::int64_t head = 0; head < heads; ++head) {
        float* const pair = output.data() + row * shape.input_row() + head * shape.width + i;
        const float first = pair[0], second = pair[half];
        pair[0] = first * cosine - second * sine;
        pair[half] = second * cosine + first * sine;
      }
    }
  }
}

// As AttentionShape says, with the keys and values of all tokens so far.
void GrowingText::attend(const AttentionShape& shape, Cache& cache, ConstSlice input, Slice output, std::int64_t rows) {
  const std::int64_t queries = shape.heads * shape.width, stored = shape.groups * shape.width;
  const float scale = 1 / std::sqrt(static_cast<float>(shape.width));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* const own = input.data() + row * shape.input_row();
    const std::int64_t places = size_ + row + 1;
    std::copy_n(own + queries, stored, cache.keys.data() + (places - 1) * stored);
    std::copy_n(own + queries + stored, stored, cache.values.data() + (places - 1) * stored);
    const Slice scores = Slice(scores_).first(static_cast<std::size_t>(places));
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t at = head * shape.groups / shape.heads * shape.width;  // of the head's group in a place
      for (std::int64_t place = 0; place < places; ++place) {
        scores[static_cast<std::size_t>(place)] =
            scale * product_of(own + head * shape.width, cache.keys.data() + place * stored + at, shape.width);
      }
      turn_into_shares(scores);
      float* const result = output.data() + row * queries + head * shape.width;
      std::fill_n(result, shape.width, 0.0f);
      for (std::int64_t place = 0; place < places; ++place) {
        const float share = scores[static_cast<std::size_t>(place)];
        const float* const value = cache.values.data() + place * stored + at;
        for (std::int64_t i = 0; i < shape.width; ++i) result[i] += share * value[i];
      }
    }
  }
}

}  // namespace eave
