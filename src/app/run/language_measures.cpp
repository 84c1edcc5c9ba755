#include "app/run/language_measures.h"

#include "device/fma_peak.h"
#include "nn/graph.h"
#include "report/record/summary.h"

namespace eave {

void add_language_measures(RunSummary& summary, const TrainingParts& parts, const OptionValues& values) {
  const TokenDataset* const text = parts.data.train->tokens();
  if (text == nullptr) return;
  summary.tokens = summary.samples * text->context();
  if (parts.replica.device.kind() != DeviceKind::kCpu) return;
  const Graph graph = build_graph(model_specification(values.text("model")), text->shape(), text->classes());
  const auto cores = static_cast<double>(summary.workers * values.integer("threads", 1));
  summary.flops_per_core = training_flops_per_token(graph) * tokens_per_second(summary) / cores;
  if (const double peak = measure_fma_peak(); peak > 0) summary.share_of_peak = *summary.flops_per_core / peak;
}

}  // namespace eave
