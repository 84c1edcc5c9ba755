#include "communicator/support/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "base/files/content_kind.h"
#include "base/files/input_file.h"
#include "base/hash.h"
#include "base/options/member_rules.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/communicator.h"

namespace eave {

void add_communicator_kind(CommunicatorKind kind);  // defined beside the family's table

namespace {

constexpr std::size_t kLargestPlugin = std::size_t{1} << 30;
constexpr const char* kAdvice = "; compile it again with this eave's headers (pkg-config --cflags eave)";

std::vector<Plugin>& plugins() {
  static std::vector<Plugin> loaded;
  return loaded;
}

[[noreturn]] void refuse_plugin(const std::string& path, const std::string& why, ExitCode code = ExitCode::kUsage) {
  throw Error(code, "plug-in " + path + ": " + why);
}

// Makes eave's symbols visible to plug-ins. A plug-in is not linked with eave, so it finds eave's functions in the
// running program. It would not find them if the program opened libeave.so with local symbols, as Python does.
void show_own_symbols() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&load_plugin), &info) == 0 || info.dli_fname == nullptr) return;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

[[noreturn]] void refuse_unopened(const std::string& path, const std::string& why) {
  const ContentKind kind = content_kind_of(path);
  if (!kind.what.empty() && kind.what != kElfContent)
    refuse_plugin(path, "cannot be opened: " + describe_content(kind, "expected a shared object (.so)"));
  refuse_plugin(path, "cannot be opened: " + why + kAdvice);
}

void require_whole(const std::string& file, const std::string& path) {
  const std::uint64_t least = least_elf_size(file);
  if (file.size() >= least) return;
  refuse_plugin(path,
                "was cut off: it has " + count_text(file.size(), "byte") + ", and by its headers at least " +
                    std::to_string(least) + "; copy or compile it again",
                ExitCode::kBadData);
}

std::string& opened_path() {
  static std::string path;
  return path;
}

// No exception leaves dlopen, so one in a static constructor ends the process.
[[noreturn]] void end_of_opening() {
  std::string why = "calls std::terminate";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    why = std::string("throws an exception: ") + error.what();
  } catch (...) {
    why = "throws an exception: it is no std::exception";
  }
  const std::string text =
      "plug-in " + opened_path() + ": a static constructor " + why + "; tell whoever wrote the plug-in";
  std::fprintf(stderr, "eave: %s\n", printable(text).c_str());
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

// The plug-in stays open, because eave calls its functions until the process ends.
void* open_plugin(const std::string& path) {
  show_own_symbols();
  opened_path() = path;
  const std::terminate_handler before = std::set_terminate(end_of_opening);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::set_terminate(before);
  if (library == nullptr) refuse_unopened(path, dlerror());
  return library;
}

template <typename Function>
Function function_in(void* library, const char* name, const std::string& path) {
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) refuse_plugin(path, "is no plug-in: it has no EAVE_COMMUNICATOR_PLUGIN");
  return function;
}

[[noreturn]] void refuse_description(const std::string& path, const std::string& why) {
  refuse_plugin(path, "it cannot describe its method: " + why + "; tell whoever wrote the plug-in",
                ExitCode::kInternal);
}

CommunicatorKind described(void (*describe)(CommunicatorKind&), const std::string& path) {
  CommunicatorKind kind{};
  try {
    describe(kind);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    refuse_description(path, error.what());
  } catch (...) {
    refuse_description(path, "it throws what is no std::exception");
  }
  return kind;
}

// Compares the headers first: only then is it safe to pass their types to the plug-in.
CommunicatorKind kind_in(void* library, const std::string& path) {
  const auto headers = function_in<unsigned long long (*)()>(library, "eave_plugin_headers", path);
  constexpr unsigned long long kOwn = plugin_interface(EAVE_HEADERS);
  if (headers() != kOwn)
    refuse_plugin(
        path, std::string("was compiled with other headers of eave, or by another compiler or library mode") + kAdvice,
        ExitCode::kConfiguration);
  const CommunicatorKind kind =
      described(function_in<void (*)(CommunicatorKind&)>(library, "eave_plugin_kind", path), path);
  if (kind.name.empty() || kind.make == nullptr) refuse_plugin(path, "its CommunicatorKind has no name or no make");
  if (const std::string fault = fault_of_member(kind); !fault.empty())
    refuse_plugin(path, "communicator '" + kind.name + "': " + fault);
  return kind;
}

}  // namespace

const Plugin& load_plugin(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (error)
    refuse_plugin(path, "cannot be opened: " + error.message() + "; expected the path of a shared object (.so)",
                  ExitCode::kInputMissing);
  require_regular(file);
  const auto known = std::ranges::find(plugins(), file.string(), &Plugin::path);
  if (known != plugins().end()) return *known;
  const std::string content = read_file(file, kLargestPlugin);
  require_whole(content, path);
  CommunicatorKind kind = kind_in(open_plugin(file), path);
  if (std::ranges::find(communicator_kinds(), kind.name, &CommunicatorKind::name) != communicator_kinds().end())
    refuse_plugin(path, "there is a communicator '" + kind.name + "' already");
  plugins().push_back({file, kind.name, hash_of(content).text()});
  add_communicator_kind(std::move(kind));
  return plugins().back();
}

const std::vector<Plugin>& loaded_plugins() { return plugins(); }

const Plugin* plugin_of(const std::string& method) {
  const auto found = std::ranges::find(plugins(), method, &Plugin::method);
  return found == plugins().end() ? nullptr : &*found;
}

}  // namespace eave
