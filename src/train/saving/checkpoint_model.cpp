#include "train/saving/checkpoint_model.h"

#include <algorithm>

#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"

namespace eave {
namespace {

std::vector<float> vector_in(const CheckpointHeader& header, const std::vector<float>& body, const std::string& name) {
  auto place = body.begin();
  for (const CheckpointVector& vector : header.vectors) {
    const auto end = place + static_cast<std::ptrdiff_t>(vector.size);
    if (vector.name == name) return {place, end};
    place = end;
  }
  throw Error(ExitCode::kBadData, "the checkpoint of rank " + std::to_string(header.rank) + " has no '" + name + "'");
}

// Merges by the law of total variance: mean = E[mean_i], variance = E[variance_i + mean_i^2] - mean^2, as training
// does.
std::vector<float> merge(const std::vector<std::vector<float>>& of_ranks, const std::vector<TensorInfo>& tensors) {
  if (of_ranks.size() == 1) return of_ranks[0];
  std::vector<float> merged(of_ranks[0].size());
  const auto count = static_cast<double>(of_ranks.size());
  for (std::size_t pair = 0; pair + 1 < tensors.size(); pair += 2) {
    for (std::int64_t i = 0; i < tensors[pair].size; ++i) {
      const auto mean_at = static_cast<std::size_t>(tensors[pair].offset + i);
      const auto variance_at = static_cast<std::size_t>(tensors[pair + 1].offset + i);
      double mean = 0, square = 0;
      for (const std::vector<float>& each : of_ranks) {
        mean += each.at(mean_at);
        square += each.at(variance_at) + static_cast<double>(each.at(mean_at)) * each.at(mean_at);
      }
      mean /= count;
      merged.at(mean_at) = static_cast<float>(mean);
      merged.at(variance_at) = static_cast<float>(std::max(0.0, square / count - mean * mean));
    }
  }
  return merged;
}

}  // namespace

void verify_checkpoint(const std::filesystem::path& directory, const Manifest& manifest) {
  for (int rank = 0; rank < std::ssize(manifest.files); ++rank) read_rank(directory, manifest, rank, nullptr);
}

CheckpointModel read_checkpoint_model(const std::filesystem::path& directory, const Manifest& manifest,
                                      const std::vector<TensorInfo>& statistics) {
  CheckpointModel model;
  std::vector<std::vector<float>> of_ranks;
  for (int rank = 0; rank < count_in(manifest, kStatistics); ++rank) {
    std::vector<float> body;
    const CheckpointHeader header = read_rank(directory, manifest, rank, &body);
    if (rank == 0) model.parameters = vector_in(header, body, header.consensus);
    of_ranks.push_back(vector_in(header, body, "statistics"));
    if (of_ranks.back().size() != of_ranks[0].size()) {
      throw Error(ExitCode::kBadData, "the checkpoint's ranks have statistics of different models");
    }
    if (statistics.empty()) break;
  }
  model.statistics = merge(of_ranks, statistics);
  return model;
}

}  // namespace eave
