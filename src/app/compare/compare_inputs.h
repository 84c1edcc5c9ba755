// Compares the data and the initial parameters of a comparison's kept runs with those that its new runs would begin
// from.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/run/sample_check.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "report/record/run_record.h"

namespace eave {

class ComparedInputs {
 public:
  // Collective, with the same `values` on all ranks: the options of the kept run. `kept`: the run on rank 0, else
  // nullptr; its name is its directory. Throws AgreedError(kConfiguration) if the run began from other data or other
  // initial parameters. What the run did not record is not compared. `moved` is called after each image that is
  // checked, by several threads.
  void require_same(Transport& job, const std::vector<std::string>& hosts, const OptionValues& values,
                    const RunRecord* kept, const std::function<void()>& moved);

  CheckedSamples checked;  // the last check of samples, of a run or of require_same

 private:
  struct Data {
    std::string identity, differences;
  };
  void require_same_data(const OptionValues& values, const RunRecord& kept);
  void require_same_initial(const OptionValues& values, const RunRecord& kept);

  // On rank 0, what was read before: by the options that data depends on, and by --initial-parameters.
  std::map<std::string, Data> data_;
  std::map<std::string, std::string> initial_;
};

}  // namespace eave
