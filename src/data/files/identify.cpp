// Computes the identity of a dataset, by which a resumed run recognises its data.
#include "base/hash.h"
#include "eave/dataset.h"

namespace eave {
namespace {

// Every text and list is hashed after its length, so that no two ways to cut the data give the same bytes.
void add_count(Hasher& hasher, std::uint64_t count) { hasher.add(std::to_string(count) + " "); }

void add_text(Hasher& hasher, const std::string& text) {
  add_count(hasher, text.size());
  hasher.add(text);
}

void add_labels(Hasher& hasher, const Dataset* dataset) {
  const std::int64_t size = dataset == nullptr ? 0 : dataset->size();
  add_count(hasher, static_cast<std::uint64_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int32_t label = dataset->label(i);
    hasher.add({reinterpret_cast<const char*>(&label), sizeof label});
  }
}

}  // namespace

void identify(DataSplit& split) {
  Hasher hasher;
  add_text(hasher, split.identity);
  add_count(hasher, split.class_names.size());
  for (const std::string& name : split.class_names) add_text(hasher, name);
  for (const auto* part : {&split.train, &split.validation, &split.test}) add_labels(hasher, part->get());
  split.identity = hasher.hash().text();
}

}  // namespace eave
