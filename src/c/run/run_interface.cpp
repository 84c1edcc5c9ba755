// Implements those functions of eave.h that record a run.
#include <memory>
#include <string>

#include "c/averager_handle.h"
#include "c/run/run_recorder.h"
#include "eave.h"
#include "report/read/run_reader.h"

struct eave_run {
  eave::RunRecorder recorder;
};

namespace {

using eave::Transport;
using RunFunction = eave::InterfaceCall::Function;

eave::OpenHandles<eave_run> open_runs;

eave::RunRecorder& recorder_of(eave_run* run) {
  eave::require(run, "run");
  if (!open_runs.contains(run)) throw eave::Error(eave::ExitCode::kUsage, "this run is closed");
  return run->recorder;
}

std::unique_ptr<eave_run> take_run(eave_run* run) {
  recorder_of(run);
  open_runs.remove(run);
  return std::unique_ptr<eave_run>(run);
}

std::optional<eave::ModelScore> score_at(const double* numbers) {
  if (!numbers) return std::nullopt;
  return eave::ModelScore{numbers[0], numbers[1]};
}

int for_all_ranks(RunFunction function, const std::function<void(Transport&)>& work) {
  return eave::call_in_session(eave::InterfaceCall{function, 0}, work);
}

}  // namespace

void eave::record_failure_of_other_rank(const Error& error) {
  open_runs.visit_each([&](eave_run& run) { run.recorder.fail_elsewhere(error); });
}

int eave_run_open(const char* directory, const char* settings, eave_averager* averager, eave_run** run) {
  return for_all_ranks(RunFunction::kRunOpen, [&](Transport& transport) {
    eave::require(directory, "directory");
    if (*directory == '\0') throw eave::Error(eave::ExitCode::kUsage, "eave_run_open: give the name of a directory");
    eave::require(settings, "settings");
    eave::require_open(averager);
    eave::require(run, "run");
    *run = new eave_run{{transport, averager->averager, directory, settings}};
    open_runs.add(*run);
    eave::note_failure({});  // that of a former run
  });
}

int eave_run_loss(eave_run* run, double loss) {
  return eave::call_here([&] { recorder_of(run).set_loss(loss); });
}

int eave_run_evaluate(eave_run* run, double loss, double score, const double* validation) {
  return for_all_ranks(RunFunction::kRunEvaluate, [&](Transport& transport) {
    recorder_of(run).evaluate(transport, {{loss, score}, score_at(validation), {}, {}});
  });
}

int eave_run_evaluate_workers(eave_run* run, double loss, double score, const double* validation, const double* mean,
                              const double* own) {
  return for_all_ranks(RunFunction::kRunEvaluate, [&](Transport& transport) {
    eave::require(mean, "mean");
    eave::require(own, "own");
    recorder_of(run).evaluate(transport, {{loss, score}, score_at(validation), score_at(mean), score_at(own)});
  });
}

int eave_run_close(eave_run* run) {
  if (!run) return 0;
  return for_all_ranks(RunFunction::kRunClose, [run](Transport& transport) {
    recorder_of(run).close(transport);
    take_run(run);
  });
}

int eave_run_check(const char* directory) {
  return eave::call_here([&] {
    eave::require(directory, "directory");
    try {
      eave::read_run(directory);
    } catch (const eave::Error& error) {
      throw eave::error_of_run(directory, error);
    }
  });
}

int eave_run_fail(eave_run* run, int code, const char* message) {
  if (!run) return 0;
  return eave::call_in_session(std::nullopt, [&](Transport&) {
    eave::require(message, "message");
    if (!eave::is_code_of_failure(code))
      throw eave::Error(eave::ExitCode::kUsage,
                        "eave_run_fail: exit code " + std::to_string(code) + "; expected one from 1 to 255");
    const std::unique_ptr<eave_run> owned = take_run(run);
    const eave::Error error(static_cast<eave::ExitCode>(code), message);
    run->recorder.fail(error);
    if (error.code() != eave::ExitCode::kLeftOnRequest) eave::note_failure(error);
  });
}
