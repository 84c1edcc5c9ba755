// metrics.jsonl as eave plan reads it, and the plan made of it. The first byte chooses the pattern of the method.
#include "report/plan/plan_text.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const auto pattern = static_cast<ExchangePattern>(bytes[0] % 7);
  take_or_refuse([&] {
    PlanReport report;
    report.run = read_plan_metrics(file_of(bytes.subspan(1)), [&](const std::string&) { return pattern; });
    report.plans.push_back({{.name = "fuzzed", .pattern = pattern, .tau = 3}, {}});
    report.plans[0].method.global_tau = 6;
    for (const int ranks : {1, 3})
      report.plans[0].rows.push_back(predict(report.run.basis, report.network, report.plans[0].method, ranks));
    plan_text(report);
    plan_json(report);
  });
}
