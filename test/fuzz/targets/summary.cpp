// summary.json, and the table of it.
#include "report/record/summary.h"

#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  take_or_refuse([&] {
    const RunSummary summary = read_summary(file_of(bytes));
    summary_table({summary});
    summary_of(summary_text(summary), "what was read");
  });
}
