// config.json of a run, and comparison.json of a comparison.
#include "report/record/config.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    const auto config = eave::read_config(eave::file_of({bytes, size}));
    eave::setting_in(config, "tau");
  });
  return 0;
}
