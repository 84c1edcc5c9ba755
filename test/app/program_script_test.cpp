// Tests which word of --program is the script.
#include <gtest/gtest.h>

#include <fstream>

#include "app/compare/program_launch.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

class ProgramScript : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(place_ / name) << text;
    return (place_ / name).string();
  }

  const TemporaryDirectory directory_;
  const std::filesystem::path place_ = directory_.path();
};

TEST_F(ProgramScript, is_the_first_word_if_it_names_its_interpreter) {
  const std::string script = file("train.py", "#!/usr/bin/env python3\n"), log = file("out.log", "");
  EXPECT_EQ(script_of({script, log}), script);
  EXPECT_EQ(script_of({script, file("other.py", "")}), script);
}

TEST_F(ProgramScript, is_the_first_file_with_the_suffix_of_one) {
  const std::string script = file("train.py", "import eave\n"), text = file("t.txt", ""), data = file("data.txt", "");
  const std::string program = file("python3", "\177ELF");
  EXPECT_EQ(script_of({program, script, data}), script);
  EXPECT_EQ(script_of({program, "-o", text, "python3", script}), script);
  EXPECT_EQ(script_of({program, "-u", place_ / "nowhere.py", script}), script);
}

TEST_F(ProgramScript, may_be_missing) {
  const std::string program = file("python3", "\177ELF"), model = file("model.pt", "");
  EXPECT_EQ(script_of({program, "-m", "pkg.train", model}), "");
  EXPECT_EQ(identity_of_script({program, "-m", "pkg.train", model}), "");
  EXPECT_EQ(script_of({program, place_ / "nowhere.py"}), "");
}

TEST_F(ProgramScript, has_another_identity_when_it_changes) {
  const std::string script = file("train.py", "a");
  const std::string before = identity_of_script({"python3", script});
  EXPECT_EQ(before, identity_of_script({"python3", script}));
  file("train.py", "b");
  EXPECT_NE(before, identity_of_script({"python3", script}));
}

}  // namespace
}  // namespace eave
