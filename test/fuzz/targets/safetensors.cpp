// A model file, as eave export and --initial-parameters read it: the arrays, then the model that the file names.
#include "base/formats/safetensors.h"

#include "app/resume/model_file.h"
#include "nn/graph.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using eave::ExitCode;
  eave::take_or_refuse({ExitCode::kBadData, ExitCode::kConfiguration, ExitCode::kUsage}, [&] {
    const eave::SafetensorsFile file = eave::read_safetensors(eave::file_of({bytes, size}));
    for (const eave::NamedArray& array : file.arrays) {
      for (const float value : array.values) {
        volatile float seen = value;
        static_cast<void>(seen);
      }
    }
    const eave::ModelDescription model = eave::description_in(file);
    eave::read_model(file, eave::build_graph(model.specification, model.image, model.classes));
  });
  return 0;
}
