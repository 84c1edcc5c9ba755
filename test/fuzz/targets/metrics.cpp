// metrics.jsonl, as reports read it, and the report made of it. The first byte chooses text, tables or page.
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/read/run_reader.h"
#include "report/text/report_tables.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const int made = bytes[0] % 3;
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::RunRecord run = eave::read_metrics(eave::file_of({bytes + 1, size - 1}));
    run.name = "one";
    eave::RunRecord other = run;
    other.name = "other";
    const eave::Comparison comparison = eave::compare_runs({{run, other}, {}}, std::nullopt);
    if (made == 0) eave::report_text(comparison);
    if (made == 1) {
      eave::variants_csv(comparison);
      eave::runs_csv(comparison);
      eave::metrics_csv(comparison);
    }
    if (made == 2) eave::report_page(comparison, {"fuzzed", "today", "1"});
  });
  return 0;
}
