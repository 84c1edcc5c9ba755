// metrics.jsonl, as reports read it, and the report made of it. The first byte chooses text, tables or page.
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/read/run_reader.h"
#include "report/text/report_tables.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const int made = bytes[0] % 3;
  take_or_refuse([&] {
    RunRecord run = read_metrics(file_of(bytes.subspan(1)));
    run.name = "one";
    RunRecord other = run;
    other.name = "other";
    const Comparison comparison = compare_runs({{run, other}, {}}, std::nullopt);
    if (made == 0) report_text(comparison);
    if (made == 1) {
      variants_csv(comparison);
      runs_csv(comparison);
      metrics_csv(comparison);
    }
    if (made == 2) report_page(comparison, {"fuzzed", "today", "1"});
  });
}
