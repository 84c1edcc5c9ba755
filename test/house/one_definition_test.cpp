// If two headers define a class of the same name in one namespace, a program that links both breaks C++'s
// one-definition rule. No compiler and no linker reports it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Returns the names of classes that are defined at the left margin, so no class within a class.
std::vector<std::string> classes_of(const std::string& header) {
  static const std::regex space("(^|\n)namespace (eave[\\w:]*) \\{"),
      definition("\n(class|struct|union|enum class) ([\\w:]+)[^;{(]*\\{");
  std::smatch found;
  const std::string name = std::regex_search(header, found, space) ? found[2].str() : "";
  std::vector<std::string> classes;
  for (std::sregex_iterator each(header.begin(), header.end(), definition), end; each != end; ++each)
    classes.push_back(name + "::" + (*each)[2].str());
  return classes;
}

TEST(House, no_two_headers_define_a_class_of_one_name) {
  std::map<std::string, fs::path> defined;
  for (const char* room : {"include", "src", "kernels"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(EAVE_SOURCE_DIR) / room)) {
      if (entry.path().extension() != ".h") continue;
      for (const std::string& name : classes_of(text_of(entry.path()))) {
        const auto [first, is_new] = defined.emplace(name, entry.path());
        EXPECT_TRUE(is_new) << name << " is defined in " << first->second << " and in " << entry.path();
      }
    }
  }
  EXPECT_GT(defined.size(), 200u);
}

}  // namespace
