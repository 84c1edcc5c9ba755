#include <cstdio>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/launch.h"
#include "eave/check.h"
#include "eave/options.h"

namespace {

constexpr const char* kUsage =
    "usage: eave COMMAND [options]\n\n"
    "  train        trains one model replica per rank; run under mpirun for several ranks\n"
    "  summary      sets finished runs side by side\n"
    "  bench-comm   times exchanges between ranks\n\n"
    "eave COMMAND --help lists the options of a command; eave --version prints the version.\n";

int refuse(const std::string& command) {
  const std::string near = eave::nearest_word(command, {"train", "summary", "bench-comm"});
  return eave::refuse_to_run(std::make_exception_ptr(
      eave::Error(eave::ExitCode::kUsage,
                  "no command '" + command + "'; " +
                      (near.empty() ? "expected train, summary or bench-comm" : "did you mean " + near + "?"))));
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    return eave::run_once("--help", [] { std::fputs(kUsage, stdout); });
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "--version") return eave::run_once("--version", [] { std::puts("eave " EAVE_VERSION); });
  if (words[0] == "train") return eave::train_command(rest, environment);
  if (words[0] == "summary") return eave::summary_command(rest);
  if (words[0] == "bench-comm") return eave::bench_comm_command(rest);
  return refuse(words[0]);
}
