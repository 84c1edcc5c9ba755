// metrics.jsonl as eave plan reads it, and the plan made of it. The first byte chooses the pattern of the method.
#include "report/plan/plan_text.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const auto pattern = static_cast<eave::ExchangePattern>(bytes[0] % 7);
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::PlanReport report;
    report.run =
        eave::read_plan_metrics(eave::file_of({bytes + 1, size - 1}), [&](const std::string&) { return pattern; });
    report.plans.push_back({{.name = "fuzzed", .pattern = pattern, .tau = 3}, {}});
    report.plans[0].method.global_tau = 6;
    for (const int ranks : {1, 3})
      report.plans[0].rows.push_back(eave::predict(report.run.basis, report.network, report.plans[0].method, ranks));
    eave::plan_text(report);
    eave::plan_json(report);
  });
  return 0;
}
