// The file in the user's cache folder where a device's fastest plans are kept from run to run.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "device/cuda_module.h"

namespace eave {

// $XDG_CACHE_HOME/eave/plans, or ~/.cache/eave/plans; empty: neither is known.
std::filesystem::path plan_folder();

using Plans = std::map<std::string, std::string>;  // the choice, by operation

// The text of a file, and what is in a text: nothing if it is of another environment. parse_plans takes any text.
std::string plans_text(const Plans& plans, const std::string& environment);
Plans parse_plans(const std::string& text, const std::string& environment);

// One file per environment: a device of another kind or another version of a library begins a new one. Each line has a
// hash of its own. A file or a line that is damaged, or that something else has written, counts as not there, and is
// written anew. Nothing here fails a run.
//
// Several processes may use the folder at the same time. Each writes a whole file under a name of its own and renames
// it, after reading again what others have written. Of two that write at the same moment the later one's file stays,
// and what only the other one found is timed again in a later run.
class PlanFile final : public PlanChoices {
 public:
  // `folder`: empty: nothing is read or written.
  explicit PlanFile(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~PlanFile() override { save(); }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  void open(const std::string& environment) override;
  std::string find(const std::string& operation) override;
  void keep(const std::string& operation, const std::string& choice) override;

  // Writes what is new.
  void save() noexcept;
  // Why nothing could be written; "": it could, or there was nothing to write.
  const std::string& why_not_saved() const { return why_not_saved_; }

 private:
  std::string name() const;
  Plans read() const;
  void write(const Plans& plans) const;

  const std::filesystem::path folder_;
  std::string environment_;
  Plans known_, new_;
  std::string why_not_saved_;
};

}  // namespace eave
