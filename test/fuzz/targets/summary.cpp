// summary.json, and the table of it.
#include "report/record/summary.h"

#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    const eave::RunSummary summary = eave::read_summary(eave::file_of({bytes, size}));
    eave::summary_table({summary});
    eave::summary_of(eave::summary_text(summary), "what was read");
  });
  return 0;
}
