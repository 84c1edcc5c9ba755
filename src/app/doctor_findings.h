// What the facts of a job mean: what is wrong, and what to do about it. No rank is asked anything here.
#pragma once

#include <string>
#include <vector>

#include "app/doctor_facts.h"
#include "eave/check.h"

namespace eave {

enum class Severity { kProblem, kNote, kOk };

struct Finding {
  Severity severity;
  std::string topic;  // a word
  std::string text;
  ExitCode code = ExitCode::kDone;  // of a problem: what the job would end with, or kConfiguration where it would not
  std::vector<std::string> more = {};  // lines below `text`
};

// Problems first, then notes, then what is well.
std::vector<Finding> judge(const JobFacts& job);

// kDone without problems; their code where they have one, else kConfiguration.
ExitCode exit_code_of(const std::vector<Finding>& findings);

std::string describe(
    const std::vector<Finding>& findings);  // a line each with those below it, and one that counts them: printable

std::string name_ranks(const std::vector<int>& ranks);  // "ranks 0, 2 and 5 others"

}  // namespace eave
