// Changes a DataSplit: splits its training set into a training and a validation set, and computes the identity by which
// a resumed run recognises its data.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "eave/check.h"
#include "eave/dataset.h"
#include "eave/random.h"

namespace eave {
namespace {

// Chosen samples of a dataset that several Subsets share.
class Subset final : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> all, std::vector<std::int64_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(chosen_.size()); }
  ImageShape shape() const override { return all_->shape(); }
  int classes() const override { return all_->classes(); }
  std::int32_t label(std::int64_t index) const override { return all_->label(in_all(index)); }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override { all_->read(in_all(index), pixels); }

 private:
  std::int64_t in_all(std::int64_t index) const { return chosen_[static_cast<std::size_t>(index)]; }

  std::shared_ptr<const Dataset> all_;
  std::vector<std::int64_t> chosen_;  // ascending
};

// Chosen windows of a text.
class SubsetOfText final : public TokenDataset {
 public:
  SubsetOfText(std::shared_ptr<const Dataset> all, std::vector<std::int64_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(chosen_.size()); }
  int classes() const override { return all_->classes(); }
  int context() const override { return all_->tokens()->context(); }
  void read_tokens(std::int64_t index, std::span<std::int32_t> tokens) const override {
    all_->tokens()->read_tokens(chosen_[static_cast<std::size_t>(index)], tokens);
  }

 private:
  std::shared_ptr<const Dataset> all_;
  std::vector<std::int64_t> chosen_;  // ascending
};

std::unique_ptr<Dataset> subset(std::shared_ptr<const Dataset> all, std::vector<std::int64_t> chosen) {
  if (all->tokens() != nullptr) return std::make_unique<SubsetOfText>(std::move(all), std::move(chosen));
  return std::make_unique<Subset>(std::move(all), std::move(chosen));
}

// The Fisher-Yates shuffle, with the same order for every seed of a run.
std::vector<std::int64_t> permutation(std::int64_t size) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random({.seed = 0, .purpose = Purpose::kHoldOut}, 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

// Every text and list is hashed after its length, so that no two ways to cut the data give the same bytes.
void add_count(Hasher& hasher, std::uint64_t count) { hasher.add(std::to_string(count) + " "); }

void add_text(Hasher& hasher, const std::string& text) {
  add_count(hasher, text.size());
  hasher.add(text);
}

void add_labels(Hasher& hasher, const Dataset* dataset) {
  const std::int64_t size = dataset == nullptr ? 0 : dataset->size();
  add_count(hasher, static_cast<std::uint64_t>(size));
  for (std::int64_t i = 0; i < size && dataset->tokens() == nullptr; ++i) {
    const std::int32_t label = dataset->label(i);
    hasher.add({reinterpret_cast<const char*>(&label), sizeof label});
  }
}

}  // namespace

std::int64_t TokenDataset::labels() const {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(context()) + 1);
  read_tokens(size() - 1, tokens);
  const auto of_last = std::ranges::count_if(tokens, [](std::int32_t token) { return token != kNoLabel; }) - 1;
  return (size() - 1) * context() + of_last;
}

std::int32_t TokenDataset::label(std::int64_t) const {
  throw Error(ExitCode::kInternal, "a window of text has no class: its labels are its tokens");
}

void TokenDataset::read(std::int64_t, std::span<std::uint8_t>) const {
  throw Error(ExitCode::kInternal, "a window of text has no pixels: read_tokens reads it");
}

void hold_out(DataSplit& split, double share) {
  const std::int64_t size = split.train->size(), held = std::llround(share * static_cast<double>(size));
  if (!(share > 0 && share < 1) || held < 1 || held >= size) {
    throw Error(ExitCode::kUsage, "--validation-share " + number_text(share) +
                                      ": expected a share of the training set above 0 and below 1, such as 0.1, that "
                                      "leaves samples in both parts");
  }
  std::vector<std::int64_t> order = permutation(size);
  const auto middle = order.begin() + held;
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  const std::shared_ptr<const Dataset> all = std::move(split.train);
  split.validation = subset(all, std::vector<std::int64_t>(order.begin(), middle));
  split.train = subset(all, std::vector<std::int64_t>(middle, order.end()));
}

void hash_identity(DataSplit& split) {
  Hasher hasher;
  add_text(hasher, split.identity);
  add_count(hasher, split.class_names.size());
  for (const std::string& name : split.class_names) add_text(hasher, name);
  for (const auto* part : {&split.train, &split.validation, &split.test}) add_labels(hasher, part->get());
  split.identity = hasher.hash().text();
  if (split.differences.empty()) split.differences = "names of classes or files, or labels, have changed";
}

}  // namespace eave
