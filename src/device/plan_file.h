// Keeps a device's fastest plans from run to run, in a file in the user's cache folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "device/cuda_module.h"

namespace eave {

// $XDG_CACHE_HOME/eave/plans, or else ~/.cache/eave/plans. Empty if neither variable is set to an absolute path.
std::filesystem::path plan_folder();

using Plans = std::map<std::string, std::string>;  // operation → choice

// plans_text writes the content of a file, and parse_plans reads it. parse_plans accepts any text, and returns nothing
// if the text belongs to another environment.
std::string plans_text(const Plans& plans, const std::string& environment);
Plans parse_plans(const std::string& text, const std::string& environment);

// There is one file per environment: another kind of device or another library version gets a new file. Each line
// carries its own hash. A damaged or foreign file or line counts as missing and is written anew. Nothing here fails a
// run.
//
// Several processes may use the folder at the same time. Each process reads again what others have written, writes a
// complete file under a name of its own and renames it. If two processes write at the same moment, the later file
// stays. Choices that only the other process found are timed again in a later run.
class PlanFile final : public PlanChoices {
 public:
  // If `folder` is empty, nothing is read or written.
  explicit PlanFile(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~PlanFile() override { save(); }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  void open(const std::string& environment) override;
  std::string find(const std::string& operation) override;
  void keep(const std::string& operation, const std::string& choice) override;

  // Writes the choices that are not yet in the file.
  void save() noexcept;
  // Why a save failed, or "" if none has failed.
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
