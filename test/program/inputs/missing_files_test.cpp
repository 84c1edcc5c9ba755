// If a file or directory is missing, each command ends with 66 and a message that names it and says what to do.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/program/expectations.h"
#include "test/program/program.h"

namespace eave {
namespace {

struct MissingFile {
  std::string words, name, remedy;
};

// Options whose path eave writes to, or whose path may be new.
const std::set<std::string> kWritten = {"run-dir", "stage-to",    "output", "json",        "html",
                                        "csv",     "metrics-csv", "npy",    "safetensors", "runs-csv"};

const std::map<std::string, MissingFile> kRead = {
    {"train --initial-parameters",
     {quick("--initial-parameters nowhere.safetensors"), "no file nowhere.safetensors", "name a model.safetensors"}},
    {"train --config", {quick("--config nowhere.ini"), "no file nowhere.ini", "give the path"}},
    {"train --plugin", {quick("--plugin nowhere.so"), "nowhere.so", "expected the path of a shared object"}},
    {"help --plugin", {"help --format bash --plugin nowhere.so", "nowhere.so", "expected the path of a shared object"}},
    {"plan --plugin", {"plan run --plugin nowhere.so", "nowhere.so", "expected the path of a shared object"}},
    {"suggest --plugin", {"suggest run --plugin nowhere.so", "nowhere.so", "expected the path of a shared object"}},
    {"suggest --bench-comm",
     {"suggest run --bench-comm nowhere.txt", "nowhere.txt: cannot be read",
      "give a file that eave bench-comm printed"}},
    {"report --notes", {"report run --notes nowhere.txt", "no file nowhere.txt", "check the path"}},
    {"compare --notes",
     {"compare --transport threads --communicators none --ranks 1,2 --data synthetic --model mlp --notes nowhere.txt",
      "no file nowhere.txt", "check the path"}},
    {"train --replay",
     {quick("--communicator downpour --replay nowhere/order"), "no file nowhere/order",
      "there is no directory nowhere"}},
    {"train --data-dir",
     {"train --data mnist --data-dir nowhere --progress off", "no files of mnist", "put the four files"}},
    {"train --vocabulary",
     {"train --data text --data-dir /etc/passwd --vocabulary nowhere --progress off", "--vocabulary nowhere",
      "expected bytes, a tokenizer.json"}},
    {"doctor --vocabulary",
     {"doctor --data text --data-dir /etc/passwd --vocabulary nowhere", "--vocabulary nowhere",
      "expected bytes, a tokenizer.json"}},
    {"generate --vocabulary",
     {"generate run --vocabulary nowhere", "--vocabulary nowhere", "expected bytes, a tokenizer.json"}},
    {"generate --checkpoint-dir",
     {"generate run --step last --checkpoint-dir nowhere", "--checkpoint-dir nowhere is no directory",
      "mount its disk"}},
    {"train --checkpoint-dir",
     {quick("--run-dir run --checkpoint-dir nowhere --resume on"), "nowhere", "start without --resume"}},
    {"doctor --data-dir", {"doctor --data mnist --data-dir nowhere", "no files of mnist", "put the four files"}},
    {"checkpoint --checkpoint-dir",
     {"checkpoint ls run --checkpoint-dir nowhere", "--checkpoint-dir nowhere is no directory", "mount its disk"}}};

const std::vector<MissingFile> kNamed = {
    {"summary nowhere", "no file nowhere/summary.json", "there is no directory nowhere; check the path"},
    {"report nowhere", "nowhere", "there is no such directory"},
    {"watch nowhere --once", "no run in nowhere", "name the --run-dir of one"},
    {"plan nowhere", "nowhere", "check the path"},
    {"export nowhere --npy out", "no file nowhere", "name a model.safetensors"},
    {"generate nowhere", "no file nowhere", "name a model.safetensors"},
    {"checkpoint ls nowhere", "no checkpoint in nowhere", "name the directory of a run"},
    {"checkpoint verify nowhere", "no checkpoint in nowhere", "name the directory of a run"}};

void expect_66(const Place& place, const MissingFile& missing) {
  expect_told(66, place.eave(missing.words), {missing.name, missing.remedy});
}

// The test takes all options with a path from help. It fails for an option that it does not know, so new ones come
// here.
TEST(MissingFiles, of_each_option_that_takes_a_path_to_read_end_with_66_and_a_remedy) {
  const Place place;
  std::istringstream page(place.eave("help --format markdown").output);
  const std::regex option(R"(\| `--([a-z-]+) PATHS?` .*)");
  std::string command;
  std::set<std::string> walked;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## eave ")) command = line.substr(8);
    std::smatch found;
    if (!std::regex_match(line, found, option) || kWritten.contains(found[1])) continue;
    const auto known = kRead.find(command + " --" + found[1].str());
    ASSERT_NE(known, kRead.end()) << command << " " << line << ": is it read? Then it belongs into this test";
    walked.insert(known->first);
    expect_66(place, known->second);
  }
  EXPECT_EQ(walked.size(), kRead.size());
}

TEST(MissingFiles, that_a_command_names_end_with_66_and_a_remedy) {
  const Place place;
  for (const MissingFile& missing : kNamed) expect_66(place, missing);
}

}  // namespace
}  // namespace eave
