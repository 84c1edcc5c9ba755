#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/launch.h"
#include "eave/check.h"
#include "eave/options.h"
#include "report/terminal.h"

namespace {

struct NamedCommand {
  const char* name;
  const char* summary;
  eave::Command* run;
};

constexpr std::array kCommands = {
    NamedCommand{"train", "trains one model replica per rank; run under mpirun for several ranks", eave::train_command},
    NamedCommand{"compare", "trains with several methods, ranks, batches and rates, and says which is best",
                 eave::compare_command},
    NamedCommand{"summary", "sets finished runs side by side", eave::summary_command},
    NamedCommand{"report", "puts runs together: tables, one page, and what won", eave::report_command},
    NamedCommand{"watch", "follows a run while it goes on", eave::watch_command},
    NamedCommand{"bench-comm", "times exchanges between ranks", eave::bench_comm_command},
    NamedCommand{"export", "writes a run's model for PyTorch or NumPy", eave::export_command},
    NamedCommand{"doctor", "looks at ranks, hosts and network; says what is wrong and what to do",
                 eave::doctor_command},
};

std::string usage() {
  std::string text = "usage: eave COMMAND [options]\n\n";
  for (const NamedCommand& command : kCommands) text += eave::format("  %-12s %s\n", command.name, command.summary);
  return text + "\neave COMMAND --help lists the options of a command; eave --version prints the version.\n";
}

int refuse(const std::string& word) {
  std::vector<std::string> names;
  std::string listed;
  for (const NamedCommand& command : kCommands) {
    names.push_back(command.name);
    listed += (listed.empty() ? "" : &command == &kCommands.back() ? " or " : ", ") + names.back();
  }
  const std::string near = eave::nearest_word(word, names);
  return eave::refuse_to_run(std::make_exception_ptr(eave::Error(
      eave::ExitCode::kUsage,
      "no command '" + word + "'; " + (near.empty() ? "expected " + listed : "did you mean " + near + "?"))));
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    return eave::run_once("--help", [] { std::fputs(usage().c_str(), stdout); });
  }
  if (words[0] == "--version") return eave::run_once("--version", [] { std::puts("eave " EAVE_VERSION); });
  const auto command = std::ranges::find_if(kCommands, [&](const auto& each) { return words[0] == each.name; });
  if (command == kCommands.end()) return refuse(words[0]);
  return command->run({words.begin() + 1, words.end()}, environment);
}
