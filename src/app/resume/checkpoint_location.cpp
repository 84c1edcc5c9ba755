#include "app/resume/checkpoint_location.h"

#include <algorithm>
#include <system_error>

#include "app/resume/resumption.h"
#include "base/files/file_errors.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char *kDirectoryOption = "checkpoint-dir", *kOwner = "run.json", *kRun = "run_dir";

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return whole_path(one) == whole_path(other) || fs::equivalent(one, other, error);
}

bool is_inside(const fs::path& path, const fs::path& directory) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(whole_path(path), error),
                 outer = fs::weakly_canonical(whole_path(directory), error);
  if (inner.empty() || outer.empty()) return false;  // a loop of links, or a name that is too long: refused elsewhere
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// The --checkpoint-dir in a run's config.json; "" if there is none.
std::string remembered_by(const fs::path& run) {
  std::error_code error;
  if (!fs::exists(run / "config.json", error)) return "";
  return setting_in(read_config(run / "config.json"), kDirectoryOption);
}

// The same for a run that is replaced or only read: a damaged config.json counts as none.
std::string remembered_if_readable(const fs::path& run) {
  try {
    return remembered_by(run);
  } catch (const Error&) {
    return "";
  }
}

bool has_checkpoints(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(directory, error) && !committed_steps(directory).empty();
}

// The run that owns the checkpoints in `directory`: the one that its run.json names, else the run that it is a part of.
// nullopt if neither exists.
std::optional<std::string> owner_of(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / kOwner, error)) return setting_in(read_config(directory / kOwner), kRun);
  const fs::path whole = fs::weakly_canonical(whole_path(directory), error);
  if (whole.filename() == kCheckpoints && holds_run(whole.parent_path())) return whole.parent_path().string();
  return std::nullopt;
}

// The other run that owns `directory`; "" if there is none. A run that was moved has no run at its former place any
// more, so an owner's path without a run does not count.
std::string other_run_in(const fs::path& directory, const fs::path& run) {
  const auto owner = owner_of(directory);
  return owner && !is_same(*owner, run) && holds_run(*owner) ? *owner : "";
}

// Whether the --checkpoint-dir in config.json is there. run.json is written before config.json, so a directory without
// it is the mount point of a disk that is not mounted.
bool is_mounted(const fs::path& remembered) {
  std::error_code error;
  return fs::is_directory(remembered, error) && (fs::exists(remembered / kOwner, error) || has_checkpoints(remembered));
}

[[noreturn]] void refuse_missing(const std::string& before, const fs::path& run, const fs::path& remembered) {
  std::error_code error;
  throw Error(ExitCode::kInputMissing,
              before + "the checkpoints of the run in " + run.string() + " lie in " + remembered.string() +
                  " (its config.json), which is " +
                  (fs::is_directory(remembered, error) ? "there without its run.json" : "not there") +
                  "; mount that disk, or say by --checkpoint-dir where they lie now");
}

// Refuses to resume with another directory of checkpoints, because the former checkpoints would silently be left
// behind.
void refuse_another_place(const fs::path& run, const fs::path& given, const std::string& remembered) {
  const fs::path before = remembered.empty() ? run / kCheckpoints : fs::path(remembered);
  if (is_same(before, given) || has_checkpoints(given) || !has_checkpoints(before)) return;
  throw Error(ExitCode::kConfiguration,
              "--checkpoint-dir " + given.string() + ": the checkpoints of the run in " + run.string() + " lie in " +
                  before.string() + "; move them there, or " +
                  (remembered.empty() ? "leave --checkpoint-dir out" : "give that directory"));
}

std::string settled(const OptionValues& values) {
  const fs::path run = values.text("run-dir");
  const bool is_given = values.has(kDirectoryOption);
  const std::string remembered = may_resume(values) ? remembered_by(run) : "";
  if (!is_given && remembered.empty()) {
    refuse_link_of_checkpoints(run);
    return "";
  }
  const fs::path directory = is_given ? whole_path(values.text(kDirectoryOption)) : fs::path(remembered);
  if (is_given && is_inside(directory, run)) {
    throw Error(ExitCode::kUsage, "--checkpoint-dir " + values.text(kDirectoryOption) + " lies in --run-dir " +
                                      run.string() +
                                      "; name a directory outside of it, or leave it out: checkpoints lie in " +
                                      (run / kCheckpoints).string() + " then");
  }
  if (is_given && is_inside(whole_path(run.string()), directory)) {
    throw Error(ExitCode::kUsage, "--checkpoint-dir " + values.text(kDirectoryOption) + ": --run-dir " + run.string() +
                                      " lies in it; name a directory for this run's checkpoints alone");
  }
  if (!is_given && !is_mounted(directory)) refuse_missing("--resume: ", run, directory);
  if (is_given && may_resume(values) && holds_run(run)) refuse_another_place(run, directory, remembered);
  return directory.string();
}

}  // namespace

void require_same_directory(const DirectoryLock& lock, const std::string& what) {
  if (!lock.is_replaced()) return;
  throw Error(ExitCode::kInputOutput,
              what +
                  ": the run's directory was replaced by another directory while this run trained, so eave writes "
                  "nothing more there. Resume in the directory that had this name before");
}

fs::path whole_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

void settle_checkpoint_directory(Transport& transport, OptionValues& values) {
  if (!values.has("run-dir") || !values.flag("checkpoint")) return;
  std::string directory;
  agree(transport, [&] {
    if (transport.rank() == 0) directory = settled(values);
  });
  directory = transport.broadcast_text(directory);
  if (!directory.empty()) values.set(kDirectoryOption, directory, "config.json");
}

fs::path checkpoint_directory(const OptionValues& values) {
  return values.has(kDirectoryOption) ? fs::path(values.text(kDirectoryOption))
                                      : fs::path(values.text("run-dir")) / kCheckpoints;
}

fs::path find_checkpoints_of(const fs::path& run, const std::string& given) {
  std::error_code error;
  const fs::path inside = run / kCheckpoints;
  const bool has_inside = fs::is_directory(inside, error);
  const std::string remembered = !given.empty() ? "" : has_inside ? remembered_if_readable(run) : remembered_by(run);
  if (!remembered.empty() && !is_mounted(remembered)) refuse_missing("", run, remembered);
  const fs::path directory = !given.empty() ? fs::path(given) : remembered.empty() ? inside : fs::path(remembered);
  if (!given.empty() && !fs::is_directory(directory, error)) {
    throw Error(ExitCode::kInputMissing, "--checkpoint-dir " + given +
                                             " is no directory that is there; mount its disk, "
                                             "or name the directory in which the checkpoints of " +
                                             run.string() + " lie");
  }
  const std::string other = other_run_in(directory, run);
  if (other.empty()) return directory;
  throw Error(ExitCode::kConfiguration, directory.string() + " holds the checkpoints of the run in " + other +
                                            ", not those of the run in " + run.string() + "; ask for " + other +
                                            ", or say by --checkpoint-dir where those of " + run.string() + " lie");
}

fs::path directory_to_access(const OptionValues& values) {
  return values.text(values.has(kDirectoryOption) ? kDirectoryOption : "run-dir");
}

std::string option_to_access(const OptionValues& values) {
  return std::string(values.has(kDirectoryOption) ? "--checkpoint-dir " : "--run-dir ") +
         directory_to_access(values).string();
}

OwnedCheckpointDirectory::OwnedCheckpointDirectory(const OptionValues& values)
    : is_on_(values.has("run-dir") && values.flag("checkpoint") && values.has(kDirectoryOption)),
      run_(values.has("run-dir") ? whole_path(values.text("run-dir")) : fs::path()),
      directory_(is_on_ ? values.text(kDirectoryOption) : "") {}

void OwnedCheckpointDirectory::refuse(const std::string& why) const {
  throw Error(ExitCode::kCannotCreate, "--checkpoint-dir " + directory_.string() + ": " + why);
}

bool OwnedCheckpointDirectory::is_mine(const std::string& owner) const { return is_same(owner, run_); }

void OwnedCheckpointDirectory::refuse_other_run() const {
  const std::string other = other_run_in(directory_, run_);
  if (other.empty()) return;
  refuse("holds the checkpoints of the run in " + other + "; each run needs a directory of its own");
}

void OwnedCheckpointDirectory::lock_existing() {
  std::error_code error;
  if (!is_on_ || lock_ || !fs::is_directory(directory_, error)) return;
  lock_.emplace(directory_, kRunLock, "--checkpoint-dir " + directory_.string());
  refuse_other_run();
}

void OwnedCheckpointDirectory::create(bool begins, bool overwrite) {
  if (!is_on_) return;
  make_named_directory(directory_, "--checkpoint-dir " + directory_.string());
  if (holds_run(directory_)) refuse("holds a run of its own; choose an empty directory");
  lock_existing();
  if (!begins || !has_checkpoints(directory_)) return;
  const auto owner = owner_of(directory_);
  if (!owner || !is_mine(*owner))
    refuse("holds checkpoints that are not of the run in " + run_.string() + "; choose another directory");
  if (!overwrite)
    refuse("holds checkpoints of an earlier run in " + run_.string() +
           "; give --overwrite to replace them, or choose another directory");
}

void OwnedCheckpointDirectory::clear() const {
  const fs::path former = remembered_if_readable(run_);
  std::error_code error;
  if (!former.empty() && !(is_on_ && is_same(former, directory_)) && fs::is_directory(former, error)) {
    const auto owner = owner_of(former);
    const std::string what = "--overwrite: " + former.string();
    if (owner && is_mine(*owner)) {
      const DirectoryLock lock(former, kRunLock, what);
      remove_checkpoints(former, what);
      remove_output(OutputFolder(former) / kOwner);
    }
  }
  if (is_on_) remove_checkpoints(directory_, "--checkpoint-dir " + directory_.string());
}

void OwnedCheckpointDirectory::require_same() const {
  if (lock_) require_same_directory(*lock_, "--checkpoint-dir " + directory_.string());
}

void OwnedCheckpointDirectory::write_owner() const {
  if (is_on_) write_config(OutputFolder(directory_) / kOwner, {{kRun, run_.string()}});
}

}  // namespace eave
