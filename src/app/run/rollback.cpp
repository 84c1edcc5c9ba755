#include "app/run/rollback.h"

#include <cstdio>
#include <string>
#include <vector>

#include "app/resume/resumption.h"
#include "base/printable.h"

namespace eave {
namespace {

bool asks_for_rollback(const OptionValues& values) { return values.text("on-nonfinite") == "rollback"; }

}  // namespace

void check_rollback(const OptionValues& values) {
  if (asks_for_rollback(values) && !(values.has("run-dir") && values.flag("checkpoint")))
    throw Error(ExitCode::kUsage,
                "--on-nonfinite rollback goes back to checkpoints, and there will be none: give "
                "--run-dir, without --checkpoint off");
}

Rollback::Rollback(Transport& transport, const OptionValues& values)
    : transport_(transport), values_(values), is_asked_(asks_for_rollback(values)) {}

bool Rollback::goes_back(const AgreedError& error) {
  if (!is_asked_ || error.code() != ExitCode::kDiverged) return false;
  std::vector<int> without_access;
  const auto found = find_checkpoint_of_run(transport_, values_, without_access);
  if (!found)
    throw AgreedError(ExitCode::kDiverged, std::string(error.what()) + "; there is no checkpoint to go back to");
  const std::string where = "the checkpoint of step " + std::to_string(found->manifest.step);
  if (found->manifest.step <= step_) {
    throw AgreedError(ExitCode::kDiverged, std::string(error.what()) + "; the run had gone back to " + where +
                                               " before, and came to the same");
  }
  step_ = found->manifest.step;
  ++times_;
  if (transport_.rank() == 0)
    std::fprintf(stderr, "eave: warning: %s; back to %s (--on-nonfinite rollback)\n", printable(error.what()).c_str(),
                 where.c_str());
  values_.set("resume", "auto", "--on-nonfinite rollback");
  values_.set("overwrite", "off", "--on-nonfinite rollback");
  return true;
}

}  // namespace eave
