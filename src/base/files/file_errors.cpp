#include "base/files/file_errors.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/files/input_file.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

struct Advice {
  int error;
  const char* text;
};

constexpr std::array kAdvice = {
    Advice{ENOSPC, "make room there, or name a place on another disk"},
    Advice{EDQUOT, "remove files of yours there, ask for a larger quota, or name a place on another disk"},
    Advice{ESTALE, "the file server no longer knows this place: mount it again, or name another place"},
    Advice{EIO, "the disk or the way to it fails: see the system's log, or name a place on another disk"},
    Advice{EROFS, "name a place that can be written to"},
    Advice{EFBIG, "a limit on the size of files is in force (ulimit -f, or the file system's): raise it"},
    Advice{ENOENT, "nothing can be made there: name another place"},
    Advice{ENAMETOOLONG, "choose a shorter name"},
    Advice{EACCES, "have its rights changed, or name a place of your own"},
    Advice{EPERM, "have its rights changed, or name a place of your own"},
    Advice{EISDIR, "a directory has that name: choose another"},
    Advice{EMFILE, "too many files are open in this process: raise ulimit -n"},
};

std::string target_of(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
}

// Why `place` is not a directory; "" if it is one, or if nothing is there.
std::string why_no_step(const fs::path& place) {
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(place, error));
  const fs::file_status status = fs::status(place, error);
  if (status.type() == fs::file_type::directory) return "";
  if (error == std::errc::too_many_symbolic_link_levels)
    return place.string() + " is a loop of symbolic links; name another directory";
  if (is_link && status.type() == fs::file_type::not_found)
    return place.string() + " is a symbolic link to " + target_of(place) +
           ", which is not there; make that directory, or name another";
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none) return "";
  const std::string kind = kind_instead_of_file(place);
  return place.string() + " is " + (kind.empty() ? "a file" : kind) + ", no directory; name another directory";
}

bool is_not_there(const fs::path& place) {
  std::error_code error;
  return fs::symlink_status(place, error).type() == fs::file_type::not_found;
}

// Says that a name that eave chose, on the way to `path`, is a link; "" if none is.
std::string why_not_through(const OutputPath& path) {
  OutputFolder place(path.folder().named());
  for (const fs::path& name : path.folder().chosen()) {
    place = place.below(name);
    const fs::path here = place.path();
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(here, error)))
      return here.string() + " is a symbolic link to " + target_of(here) +
             ", and eave writes through none: move it away";
  }
  return "";
}

}  // namespace

std::string words_of_error(int error) {
  std::string text = std::strerror(error);
  for (const Advice& advice : kAdvice) {
    if (advice.error == error) text += std::string("; ") + advice.text;
  }
  return text;
}

std::string why_not_written(int error, const OutputPath& path) {
  if (error == ENOTDIR || error == ELOOP || error == ENOENT || error == EEXIST) {
    if (const std::string why = why_not_through(path); !why.empty()) return why;
    const fs::path folder = path.folder().path(), place = path.path();
    if (const std::string why = why_no_directory(folder); !why.empty()) return why;
    if (error == ENOENT && is_not_there(folder))
      return "the directory " + folder.string() + " is not there; make it, or name another";
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(place, unknown);
    if (fs::is_symlink(status))
      return "it is a symbolic link to " + target_of(place) + ", and eave writes through none: move it away";
    if (error == EEXIST && fs::exists(status))
      return "what is there is not a file of eave's own (a pipe, a device, a directory, or a file with a second "
             "name): move it away";
  }
  return words_of_error(error);
}

std::string why_no_directory(const fs::path& named) {
  fs::path place;
  for (const fs::path& name : named) {
    place /= name;
    if (const std::string why = why_no_step(place); !why.empty()) return why;
  }
  return "";
}

std::string why_no_file(const fs::path& path) {
  fs::path place;
  std::error_code error;
  for (const fs::path& name : path.parent_path()) {
    place /= name;
    const fs::file_status status = fs::status(place, error);
    if (fs::is_directory(status)) continue;
    if (error == std::errc::too_many_symbolic_link_levels) return place.string() + " is a loop of symbolic links";
    if (fs::is_symlink(fs::symlink_status(place, error)))
      return place.string() + " is a symbolic link to " + target_of(place) + ", which is no directory";
    if (fs::exists(status)) return place.string() + " is a file, no directory";
    return "there is no directory " + path.parent_path().string() + "; check the path";
  }
  const fs::file_status status = fs::status(path, error);
  if (error == std::errc::too_many_symbolic_link_levels) return "it is a loop of symbolic links; remove it";
  if (fs::is_directory(status)) return "it is a directory; name a file";
  if (fs::is_other(status)) return "it is a pipe, a device or a socket; write what it gives to a file, and name that";
  if (!fs::exists(status) && fs::is_symlink(fs::symlink_status(path, error)))
    return "it is a symbolic link to " + target_of(path) + ", which is not there; mend or remove the link";
  const fs::path directory = path.parent_path().empty() ? fs::current_path(error) : path.parent_path();
  return "it is not in " + directory.string() + "; check the path";
}

std::string describe_filesystem_error(const fs::filesystem_error& error) {
  std::error_code unknown;
  if (fs::current_path(unknown).empty()) return "the current directory is not there any more; change to one that is";
  const std::string place = error.path1().empty() ? "the current directory" : error.path1().string();
  if (error.code() == std::errc::too_many_symbolic_link_levels)
    return place + " is a loop of symbolic links; name another place";
  if (error.code() == std::errc::no_such_file_or_directory) return place + " is not there, or was removed just now";
  return "cannot look at " + place + ": " + words_of_error(error.code().value());
}

void make_named_directory(const fs::path& named, const std::string& what) {
  std::error_code error;
  fs::create_directories(named, error);
  if (!error && fs::is_directory(named, error)) return;
  const std::string why = why_no_directory(named);
  throw Error(ExitCode::kCannotCreate,
              what + " cannot be created: " + (why.empty() ? words_of_error(error.value()) : why));
}

}  // namespace eave
