// The text of a model, which model files also contain; the target builds its graph and its table.
#include "nn/graph.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = eave::text_of({bytes, size});
  eave::take_or_refuse({eave::ExitCode::kUsage, eave::ExitCode::kConfiguration}, [&] {
    eave::summarise(eave::build_graph(text, {32, 32, 3}, 10));
  });
  return 0;
}
