// Checks by reading #include lines which room may include which.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;

// Direct permissions. A room may also include itself and whatever its friends may include.
const std::map<std::string, Rooms> kFriends = {
    {"base", {}},
    {"kernels", {"base"}},
    {"device", {"kernels"}},
    {"transport", {"device"}},
    {"guard", {"transport"}},
    {"nn", {"device"}},
    {"optim", {"device"}},
    {"data", {"device"}},
    {"communicator", {"transport", "device"}},
    {"checkpoint", {"communicator"}},
    {"c", {"optim", "guard", "checkpoint", "report"}},
    {"report", {"base"}},
    {"train", {"nn", "optim", "data", "checkpoint", "guard"}},
    {"app", {"train", "report"}},
};

// Maps each public header to the room that it belongs to.
const std::map<std::string, std::string> kHeaderRooms = {
    {"check", "base"},
    {"slice", "base"},
    {"update_steps", "base"},
    {"random", "base"},
    {"options", "base"},
    {"batch", "base"},
    {"exchange_pattern", "base"},
    {"recorder", "base"},
    {"device", "device"},
    {"compute", "device"},
    {"model", "nn"},
    {"dataset", "data"},
    {"loader", "data"},
    {"optimizer", "optim"},
    {"transport", "transport"},
    {"agreement", "transport"},
    {"decorators", "transport"},
    {"job", "transport"},
    {"communicator", "communicator"},
    {"checkpoint", "checkpoint"},
    {"trainer", "train"},
};

Rooms reachable(const std::string& room) {
  Rooms all = {room};
  for (const std::string& near : kFriends.at(room)) all.merge(reachable(near));
  return all;
}

std::vector<std::string> included_by(const fs::path& file) {
  static const std::regex pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"].*");
  std::vector<std::string> names;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) names.push_back(match[1]);
  }
  return names;
}

std::vector<fs::path> sources_under(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string suffix = entry.path().extension();
    if (suffix == ".h" || suffix == ".cpp" || suffix == ".cu") files.push_back(entry.path());
  }
  return files;
}

// Returns the room of a header, or "" if it belongs to no room of eave (the standard library, packages).
std::string room_of_include(const std::string& name) {
  const std::string first = name.substr(0, name.find('/'));
  if (first == "eave") {
    const std::string header = fs::path(name).stem();
    const auto found = kHeaderRooms.find(header);
    return found == kHeaderRooms.end() ? "unknown header " + name : found->second;
  }
  return name.find('/') != std::string::npos && kFriends.contains(first) ? first : "";
}

void expect_rules(const std::string& room, const fs::path& file) {
  const Rooms allowed = reachable(room);
  for (const std::string& name : included_by(file)) {
    const std::string target = room_of_include(name);
    EXPECT_TRUE(target.empty() || allowed.contains(target)) << file << " (" << room << ") includes " << name;
  }
}

TEST(House, every_room_includes_only_those_it_may) {
  const fs::path top = EAVE_SOURCE_DIR;
  int files = 0;
  for (const auto& [room, friends] : kFriends) {
    const fs::path folder = room == "kernels" ? top / "kernels" : top / "src" / room;
    for (const fs::path& file : sources_under(folder)) {
      expect_rules(room, file);
      ++files;
    }
  }
  for (const auto& [header, room] : kHeaderRooms) expect_rules(room, top / "include/eave" / (header + ".h"));
  EXPECT_GT(files, 40);
}

bool is_example(const fs::path& file) { return file.parent_path().filename() == "examples"; }

// Examples must compile against an installed eave, so they may include only installed headers.
TEST(House, examples_include_public_headers_alone) {
  std::vector<fs::path> examples = sources_under(fs::path(EAVE_SOURCE_DIR) / "include/examples");
  EXPECT_FALSE(examples.empty());
  for (const fs::path& example : examples) {
    for (const std::string& name : included_by(example))
      EXPECT_TRUE(name.starts_with("eave/") || name.find('/') == std::string::npos) << example << " includes " << name;
  }
}

// mpi_launch/guide/install.md shows this example as one to read as a whole, so it has to stay short.
TEST(House, example_of_a_loop_of_ones_own_has_at_most_40_lines) {
  std::ifstream example(fs::path(EAVE_SOURCE_DIR) / "include/examples/own_loop.cpp");
  int lines = 0;
  for (std::string line; std::getline(example, line);) ++lines;
  EXPECT_GT(lines, 0);
  EXPECT_LE(lines, 40);
}

TEST(House, public_headers_are_at_most_21_and_free_of_vendors) {
  const fs::path of_c = fs::path(EAVE_SOURCE_DIR) / "include/eave.h";  // the header for C and other languages
  std::vector<fs::path> headers = sources_under(of_c.parent_path());
  std::erase_if(headers, is_example);
  EXPECT_LE(headers.size(), 21u + 1);
  for (const fs::path& header : headers) {
    EXPECT_TRUE(header == of_c || kHeaderRooms.contains(header.stem())) << header;
    for (const std::string& name : included_by(header)) {
      for (const char* vendor :
           {"mpi.h", "cuda", "nccl", "cudnn", "cublas", "dnnl", "Eigen", "boost", "omp.h", "zlib.h"}) {
        EXPECT_EQ(name.find(vendor), std::string::npos) << header << " includes " << name;
      }
    }
  }
}

}  // namespace
