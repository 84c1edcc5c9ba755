// What a file holds, told by its first bytes: for the messages of readers that expected something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace eave {

enum class ContentGroup {
  kUnknown,
  kEmpty,
  kWebPage,  // HTML, or an error that a server wrote as XML or JSON
  kPointer,  // stands in a repository for a file that is elsewhere: git-lfs, git-annex
  kPacked,   // a compressed file or an archive
  kPickle,   // Python's
  kPytorch,  // written by torch.save
  kImage,
  kText,
  kOther
};

struct ContentKind {
  ContentGroup group = ContentGroup::kUnknown;
  std::string what;    // "an HTML page": goes on "it is "; "" if it is unknown
  std::string remedy;  // "run git lfs pull"; "" if that depends on what the reader wants
};

// ContentKind::what of models and of shared objects: readers of these tell damaged ones from others.
inline constexpr const char* kSafetensorsContent = "a safetensors file";
inline constexpr const char* kElfContent = "an ELF program or library";

// How many bytes content_kind looks at.
inline constexpr std::size_t kContentBytes = 512;

// `begin`: the first kContentBytes of a file, or all of a shorter one. A magic number is no proof: ask only when the
// bytes are not what was expected.
ContentKind content_kind(std::span<const std::uint8_t> begin);

// The same of a file; kUnknown if it cannot be read.
ContentKind content_kind_of(const std::filesystem::path& path);

// "it is an HTML page: get the file again", or "" if the kind is unknown. `remedy` is taken if the kind has none.
std::string describe_content(const ContentKind& kind, const std::string& remedy = "");

}  // namespace eave
