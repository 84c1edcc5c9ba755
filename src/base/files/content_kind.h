// Recognises what a file holds by its first bytes, for the messages of readers that expected something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace eave {

enum class ContentGroup {
  kUnknown,
  kEmpty,
  kWebPage,  // HTML, or an error that a server wrote as XML or JSON
  // Stands in a repository in place of the file itself: git-lfs, git-annex.
  kPointer,
  kPacked,   // a compressed file or an archive
  kPickle,   // a pickle of Python
  kPytorch,  // written by torch.save
  kImage,
  kText,
  kOther
};

struct ContentKind {
  ContentGroup group = ContentGroup::kUnknown;
  std::string what;    // "an HTML page", to follow "it is "; "" if unknown
  std::string remedy;  // "run git lfs pull"; "" if it depends on what the reader wants
  // True if a file of numbers would hardly begin with these bytes by chance.
  bool is_sure = false;
};

// ContentKind::what of models and shared objects. Their readers use it to tell damaged files from files of another
// kind.
inline constexpr const char* kSafetensorsContent = "a safetensors file";
inline constexpr const char* kElfContent = "an ELF program or library";
inline constexpr const char* kJsonContent = "a JSON document";

// The number of bytes that content_kind looks at.
inline constexpr std::size_t kContentBytes = 512;

// `begin` is the first kContentBytes of a file, or all of a shorter file. A magic number is no proof: call this only if
// the bytes are not what was expected.
ContentKind content_kind(std::span<const std::uint8_t> begin);

// Whether the bytes are UTF-8 without control characters; `begin` may end within a character.
bool is_utf8_text(std::string_view begin);

// The same for a file; kUnknown if it cannot be read.
ContentKind content_kind_of(const std::filesystem::path& path);

// Returns how many bytes an ELF file must have for its own segments and tables. A file that was cut off has fewer, and
// to run it ends with a signal and no message. Returns 0 if it is no ELF file for this kind of machine.
std::uint64_t least_elf_size(std::string_view file);

// Returns "it is an HTML page: get the file again", or "" if the kind is unknown. `remedy` is used if the kind has
// none.
std::string describe_content(const ContentKind& kind, const std::string& remedy = "");

}  // namespace eave
