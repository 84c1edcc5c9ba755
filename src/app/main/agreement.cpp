#include "app/main/agreement.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/main/launch.h"
#include "base/hash.h"
#include "base/options/number_text.h"

namespace eave {
namespace {

// Images of each set to hash, evenly spaced. Reading them takes a small part of the first step's reading.
constexpr std::int64_t kImagesLookedAt = 64;

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string content_of(const Dataset& data) {
  Hasher hasher;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(data.size()));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = data.label(static_cast<std::int64_t>(i));
  hasher.add(bytes_of(labels));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(data.shape().size()));
  const std::int64_t images = std::min(kImagesLookedAt, data.size());
  for (std::int64_t i = 0; i < images; ++i) {
    data.read(i * data.size() / images, pixels);
    hasher.add(bytes_of(pixels));
  }
  return hasher.hash().text().substr(0, 16);
}

void add_data(Intent& facts, const std::string& name, const Dataset& data) {
  const ImageShape shape = data.shape();
  facts["size of " + name] = count_text(data.size(), "image");
  facts["shape of " + name] =
      std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " + std::to_string(shape.channels);
  facts["classes of " + name] = std::to_string(data.classes());
  facts["content of " + name] = content_of(data);
}

Intent facts_of(const Model& model, const DataSplit& data) {
  Intent facts{{"model", hash_of(model.summary()).text().substr(0, 16)},
               {"parameters of the model", std::to_string(model.parameter_size())}};
  add_data(facts, "the training set", *data.train);
  add_data(facts, "the test set", *data.test);
  facts["names and labels of the data"] = data.identity;
  return facts;
}

}  // namespace

void require_same_training(Transport& transport, const Model& model, const DataSplit& data) {
  Intent facts;
  agree(transport, [&] { facts = facts_of(model, data); });
  require_same(transport, facts, "the ranks do not train the same",
               "Give all the same data and the same program; eave doctor looks at each host");
}

}  // namespace eave
