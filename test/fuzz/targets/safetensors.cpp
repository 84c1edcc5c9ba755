// A model file, as eave export and --initial-parameters read it: the arrays, then the model that the file names.
#include "base/formats/safetensors.h"

#include "app/resume/model_file.h"
#include "nn/graph.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  take_or_refuse({ExitCode::kBadData, ExitCode::kConfiguration, ExitCode::kUsage}, [&] {
    const SafetensorsFile file = read_safetensors(file_of(bytes));
    for (const NamedArray& array : file.arrays) {
      for (const float value : array.values) {
        volatile float seen = value;
        static_cast<void>(seen);
      }
    }
    const ModelDescription model = description_in(file);
    read_model(file, build_graph(model.specification, model.image, model.classes));
  });
}
