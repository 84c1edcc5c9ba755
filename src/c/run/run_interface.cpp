// Implements those functions of eave.h that record a run.
#include <cmath>
#include <memory>
#include <string>

#include "c/averager_handle.h"
#include "c/run/run_recorder.h"
#include "eave.h"

struct eave_run {
  eave::RunRecorder recorder;
};

namespace {

using eave::Transport;
using RunFunction = eave::InterfaceCall::Function;

void require_run(const void* pointer, const char* what) {
  if (!pointer) throw eave::Error(eave::ExitCode::kUsage, std::string(what) + " is a null pointer");
}

int for_all_ranks(RunFunction function, const std::function<void(Transport&)>& work) {
  return eave::call_in_session(eave::InterfaceCall{function, 0}, work);
}

}  // namespace

int eave_run_open(const char* directory, const char* settings, eave_averager* averager, eave_run** run) {
  return for_all_ranks(RunFunction::kRunOpen, [&](Transport& transport) {
    require_run(directory, "directory");
    require_run(settings, "settings");
    require_run(averager, "averager");
    require_run(run, "run");
    *run = new eave_run{{transport, averager->averager, directory, settings}};
  });
}

int eave_run_loss(eave_run* run, double loss) {
  return eave::call_here([&] {
    require_run(run, "run");
    run->recorder.set_loss(loss);
  });
}

int eave_run_evaluate(eave_run* run, double loss, double score, const double* validation) {
  return for_all_ranks(RunFunction::kRunEvaluate, [&](Transport& transport) {
    require_run(run, "run");
    eave::ConsensusScores scores{{loss, score}, {}};
    if (validation) scores.validation = {validation[0], validation[1]};
    run->recorder.evaluate(transport, scores);
  });
}

int eave_run_close(eave_run* run) {
  if (!run) return 0;
  return for_all_ranks(RunFunction::kRunClose, [run](Transport& transport) {
    run->recorder.close(transport);
    delete run;
  });
}

int eave_run_fail(eave_run* run, int code, const char* message) {
  if (!run) return 0;
  return eave::call_in_session(std::nullopt, [&](Transport&) {
    const std::unique_ptr<eave_run> owned(run);
    require_run(message, "message");
    run->recorder.fail({static_cast<eave::ExitCode>(code), message});
  });
}
