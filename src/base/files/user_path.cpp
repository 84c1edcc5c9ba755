#include "base/files/user_path.h"

#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <vector>

#include "eave/check.h"

namespace eave {
namespace {

// Returns "" if there is no such user, or the user has no home directory.
std::string recorded_home(const std::string& user) {
  std::vector<char> space(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (user.empty()) {
    ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  } else {
    ::getpwnam_r(user.c_str(), &entry, space.data(), space.size(), &found);
  }
  return found && found->pw_dir ? found->pw_dir : "";
}

std::string home_of(const std::string& user) {
  const char* const home = user.empty() ? std::getenv("HOME") : nullptr;
  return home && *home != '\0' ? home : recorded_home(user);
}

bool begins_with_variable(const std::string& text) {
  return text.size() > 1 && text[0] == '$' &&
         (text[1] == '{' || text[1] == '_' || std::isalpha(static_cast<unsigned char>(text[1])));
}

}  // namespace

Reading<std::string> read_path(const std::string& text) {
  const std::string literally = "; if that is the real name, give ./" + text;
  if (begins_with_variable(text))
    return {std::nullopt, "a path without variables, which are not expanded here" + literally};
  if (!text.starts_with('~')) return {text};
  const std::size_t end = text.find('/');
  const std::string user = text.substr(1, end == std::string::npos ? end : end - 1);
  const std::string rest = end == std::string::npos ? "" : text.substr(end);
  const std::string home = home_of(user);
  if (!home.empty()) return {home == "/" && !rest.empty() ? rest : home + rest};
  const std::string reason = user.empty() ? "a path: HOME is not set, and no home directory is recorded for this user"
                                          : "a path: there is no user '" + user + "' with a home directory";
  return {std::nullopt, reason + literally};
}

std::string path_of_word(const std::string& text, const std::string& what) {
  const Reading<std::string> path = read_path(text);
  if (!path.value) throw Error(ExitCode::kUsage, what + " " + text + ": expected " + path.expected);
  return *path.value;
}

}  // namespace eave
