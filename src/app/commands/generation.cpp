#include "app/commands/generation.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "eave/check.h"
#include "eave/random.h"

namespace eave {
namespace {

// In [0, 1), of 53 bits.
double uniform_number(std::uint64_t seed, std::uint32_t sample, std::uint64_t token) {
  const auto words = random_words({seed, Purpose::kGenerate, sample}, token, 0);
  return static_cast<double>((std::uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
}

Graph graph_of_one_token(const StoredModel& model) {
  if (!model.graph.reads_tokens) {
    throw Error(ExitCode::kConfiguration, model.place.string() +
                                              ": its model reads images, and generate writes text; name a run with "
                                              "--data text or tokens");
  }
  return build_graph(model.description.specification, {1, 1, 1}, model.description.classes);
}

}  // namespace

Generation::Generation(const StoredModel& model, int threads)
    : graph_(graph_of_one_token(model)),
      compute_(make_cpu_compute(threads)),
      text_(graph_, *compute_, model.arenas.parameters, model.description.image.height) {}

void Generation::begin(const std::vector<std::int32_t>& prompt) {
  text_.clear();
  tokens_ = prompt;
  computed_ = tokens_.size() - std::min(tokens_.size(), static_cast<std::size_t>(context()));
  drawn_ = 0;
}

std::int32_t Generation::next(const TokenChoice& choice, std::int32_t limit, std::uint64_t seed, std::uint32_t sample) {
  if (text_.size() + static_cast<std::int64_t>(tokens_.size() - computed_) > context()) {
    text_.clear();
    const std::int64_t kept = std::max<std::int64_t>(1, context() - std::max<std::int64_t>(1, context() / 4));
    computed_ = tokens_.size() - static_cast<std::size_t>(kept);
  }
  const ConstSlice logits = text_.append(std::span(tokens_).subspan(computed_)).first(static_cast<std::size_t>(limit));
  computed_ = tokens_.size();
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    throw Error(ExitCode::kBadData,
                "the model gives values that are not finite for this text; take another checkpoint "
                "or model");
  }
  tokens_.push_back(choose_token(logits, choice, uniform_number(seed, sample, drawn_++)));
  return tokens_.back();
}

}  // namespace eave
