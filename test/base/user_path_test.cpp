#include "base/files/user_path.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "eave/check.h"
#include "eave/options.h"
#include "test/expectations.h"

namespace eave {
namespace {

// Sets HOME to `home` for the lifetime of the object; nullptr unsets it.
class Home {
 public:
  explicit Home(const char* home) {
    const char* const before = std::getenv("HOME");
    had_one_ = before != nullptr;
    if (before) before_ = before;
    home ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
  }
  ~Home() { had_one_ ? ::setenv("HOME", before_.c_str(), 1) : ::unsetenv("HOME"); }

 private:
  bool had_one_ = false;
  std::string before_;
};

std::string recorded_home() { return ::getpwuid(::geteuid())->pw_dir; }

TEST(UserPath, a_leading_tilde_is_the_home_directory) {
  const Home home("/homes/ann");
  EXPECT_EQ(read_path("~").value, "/homes/ann");
  EXPECT_EQ(read_path("~/").value, "/homes/ann/");
  EXPECT_EQ(read_path("~/runs/a b").value, "/homes/ann/runs/a b");
}

TEST(UserPath, a_tilde_and_a_name_is_the_home_directory_of_that_user) {
  const Home home("/homes/ann");
  const std::string me = ::getpwuid(::geteuid())->pw_name;
  EXPECT_EQ(read_path("~" + me + "/x").value, recorded_home() + "/x");
  EXPECT_EQ(read_path("~" + me).value, recorded_home());
}

TEST(UserPath, without_home_the_recorded_directory_is_taken) {
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Home home(none);
    EXPECT_EQ(read_path("~/x").value, recorded_home() + "/x");
  }
}

TEST(UserPath, a_home_at_the_root_has_no_second_slash) {
  const Home home("/");
  EXPECT_EQ(read_path("~/x").value, "/x");
  EXPECT_EQ(read_path("~").value, "/");
}

TEST(UserPath, other_tildes_are_of_the_name) {
  for (const char* text : {"./~", "./~/x", "a~", "a/~/b", "/~", "x,~/y", "", "-", " ~/x", "./$HOME", "a$b", "$", "$1"})
    EXPECT_EQ(read_path(text).value, text);
}

TEST(UserPath, what_a_shell_would_have_expanded_and_nobody_did_is_refused) {
  for (const std::string text :
       {"~nobody-is-called-so/x", "~nobody-is-called-so", "~+", "~-/x", "$HOME/x", "${HOME}/x"}) {
    const Reading<std::string> reading = read_path(text);
    EXPECT_FALSE(reading.value) << text;
    EXPECT_TRUE(says(reading.expected, "give ./" + text));
  }
  EXPECT_TRUE(says(read_path("~nobody-is-called-so/x").expected, "no user 'nobody-is-called-so'"));
}

TEST(UserPath, options_that_name_paths_expand_them_each_in_a_list_too) {
  const Home home("/homes/ann");
  OptionValues values;
  values.declare({"run-dir", OptionType::kPath, "", ""});
  values.declare({"plugin", OptionType::kPaths, "", ""});
  values.declare({"name", OptionType::kText, "", ""});
  values.set("run-dir", "~/run", "file a.ini");
  EXPECT_EQ(values.text("run-dir"), "/homes/ann/run");
  values.set("plugin", "~/a.so, ./b.so,~/c.so", "environment");
  EXPECT_EQ(values.text("plugin"), "/homes/ann/a.so,./b.so,/homes/ann/c.so");
  values.set("name", "~/run", "command line");
  EXPECT_EQ(values.text("name"), "~/run");
  for (const std::string name : {"run-dir", "plugin"}) {
    expect_error(ExitCode::kUsage, "--" + name + " ~nobody-is-called-so/x (file a.ini)",
                 [&] { values.set(name, "~nobody-is-called-so/x", "file a.ini"); });
  }
}

}  // namespace
}  // namespace eave
