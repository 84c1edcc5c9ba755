// metrics.jsonl: the reader of reports and all that a report makes of it.
#include "report/comparison.h"
#include "report/metrics_reader.h"
#include "report/page.h"
#include "report/report_tables.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::RunRecord run = eave::read_metrics(eave::file_of({bytes, size}));
    run.name = "one";
    eave::RunRecord other = run;
    other.name = "other";
    const eave::Comparison comparison = eave::compare_runs({{run, other}, {}}, std::nullopt);
    eave::report_text(comparison);
    eave::variants_csv(comparison);
    eave::runs_csv(comparison);
    eave::metrics_csv(comparison);
    eave::report_page(comparison, {"fuzzed", "today", "1"});
  });
  return 0;
}
