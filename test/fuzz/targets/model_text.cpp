// The text of a model, which model files also contain; the target builds its graph and its table.
#include "nn/graph.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  const std::string text = text_of(bytes);
  take_or_refuse({ExitCode::kUsage, ExitCode::kConfiguration}, [&] { summarise(build_graph(text, {32, 32, 3}, 10)); });
}
