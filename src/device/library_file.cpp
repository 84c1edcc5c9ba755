#include "device/library_file.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace eave {
namespace {

namespace fs = std::filesystem;

// The parts of an ELF file that tell its expected size and the libraries that it needs. Each read is checked against
// the file's end.
class LibraryFile {
 public:
  explicit LibraryFile(const fs::path& path) : path_(path), stream_(path, std::ios::binary) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) return;
    size_ = size;
    ElfW(Ehdr) header{};
    is_library_ = read(0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                  header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                  header.e_phentsize == sizeof(ElfW(Phdr));
    if (size_ < sizeof header) expected_ = sizeof header;
    if (!is_library_) return;
    expected_ = header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      ElfW(Phdr) part{};
      if (!read(header.e_phoff + i * sizeof part, part)) return;
      parts_.push_back(part);
      if (part.p_type == PT_LOAD) expected_ = std::max<std::uint64_t>(expected_, part.p_offset + part.p_filesz);
    }
  }

  // Only truncation counts as damage. The loader itself reports files that are no libraries of this machine.
  std::string damage() const {
    if (size_ >= expected_) return "";
    return path_.string() + " is cut short: " + std::to_string(size_) + " of at least " + std::to_string(expected_) +
           " bytes are there";
  }

  std::vector<std::string> needed() { return texts(DT_NEEDED); }

  // The folders in which this library looks for the libraries that it needs (RUNPATH, else RPATH).
  std::vector<fs::path> places() {
    std::vector<std::string> lists = texts(DT_RUNPATH);
    if (lists.empty()) lists = texts(DT_RPATH);
    std::vector<fs::path> folders;
    for (std::string list : lists) {
      for (const std::string word : {"$ORIGIN", "${ORIGIN}"}) {
        for (std::size_t at = list.find(word); at != std::string::npos; at = list.find(word))
          list.replace(at, word.size(), path_.parent_path().string());
      }
      std::istringstream words(list);
      for (std::string folder; std::getline(words, folder, ':');) folders.emplace_back(folder);
    }
    return folders;
  }

 private:
  template <class T>
  bool read(std::uint64_t at, T& into) {
    if (at > size_ || size_ - at < sizeof into) return false;
    stream_.seekg(static_cast<std::streamoff>(at));
    stream_.read(reinterpret_cast<char*>(&into), sizeof into);
    return static_cast<bool>(stream_);
  }

  // The offset in the file of an address in the loaded library.
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const ElfW(Phdr) & part : parts_) {
      if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
        return part.p_offset + (address - part.p_vaddr);
    }
    return UINT64_MAX;
  }

  std::vector<std::string> texts(std::int64_t tag) {
    const auto dynamic = std::ranges::find(parts_, static_cast<ElfW(Word)>(PT_DYNAMIC), &ElfW(Phdr)::p_type);
    if (dynamic == parts_.end()) return {};
    std::uint64_t names = UINT64_MAX;
    std::vector<std::uint64_t> found;
    for (std::uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(ElfW(Dyn))) {
      ElfW(Dyn) entry{};
      if (!read(dynamic->p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) names = offset_of(entry.d_un.d_ptr);
      if (entry.d_tag == tag) found.push_back(entry.d_un.d_val);
    }
    std::vector<std::string> texts;
    for (const std::uint64_t name : found) {
      if (names >= size_ || name >= size_ - names) continue;
      stream_.seekg(static_cast<std::streamoff>(names + name));
      std::getline(stream_, texts.emplace_back(), '\0');
      stream_.clear();
    }
    return texts;
  }

  fs::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0, expected_ = 0;
  bool is_library_ = false;
  std::vector<ElfW(Phdr)> parts_;
};

std::vector<fs::path> places_of_environment() {
  std::vector<fs::path> folders;
  const char* const list = std::getenv("LD_LIBRARY_PATH");
  std::istringstream words(list == nullptr ? "" : list);
  for (std::string folder; std::getline(words, folder, ':');) folders.emplace_back(folder);
  return folders;
}

// The loader's default folders, without its cache, on the distributions that eave is built on.
constexpr const char* kUsualPlaces[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                        "/usr/lib", "/usr/local/lib"};

std::vector<fs::path> all_places(const std::vector<fs::path>& of_user) {
  std::vector<fs::path> folders = places_of_environment();
  folders.insert(folders.end(), of_user.begin(), of_user.end());
  folders.insert(folders.end(), std::begin(kUsualPlaces), std::end(kUsualPlaces));
  return folders;
}

fs::path find_in(const std::vector<fs::path>& folders, const fs::path& name) {
  std::error_code error;
  for (const fs::path& folder : folders)
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  return {};
}

std::vector<fs::path> list(const std::vector<fs::path>& folders, const std::string& start) {
  std::vector<fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with(start)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// libcudnn.so opens cuDNN's other libraries by name when it first needs them.
std::vector<fs::path> opened_later_by(const fs::path& library) {
  if (!library.filename().string().starts_with("libcudnn.so.")) return {};
  return list({library.parent_path()}, "libcudnn_");
}

std::string find_damage(const fs::path& library, std::set<fs::path>& seen) {
  if (library.empty() || !seen.insert(library).second) return "";
  LibraryFile file(library);
  if (std::string damage = file.damage(); !damage.empty()) return damage;
  std::vector<fs::path> others = opened_later_by(library);
  const std::vector<fs::path> folders = all_places(file.places());
  for (const std::string& name : file.needed()) others.push_back(find_in(folders, name));
  for (const fs::path& other : others)
    if (std::string damage = find_damage(other, seen); !damage.empty()) return damage;
  return "";
}

}  // namespace

std::string why_library_is_damaged(const fs::path& library) {
  std::set<fs::path> seen;
  return find_damage(library.has_parent_path() ? library : find_in(all_places({}), library), seen);
}

std::vector<fs::path> libraries_named(const fs::path& user, const std::string& start) {
  LibraryFile file(user);
  return list(all_places(file.places()), start);
}

}  // namespace eave
