#include "base/files/content_kind.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>

#include "base/options/spelling.h"

namespace eave {
namespace {

using namespace std::string_view_literals;
using enum ContentGroup;

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  ContentGroup group;
  const char* what;
  const char* remedy = "";
};

constexpr std::size_t kSureBytes = 4, kSureText = 64;
constexpr const char* kGetAgain = "get the file again";
constexpr const char* kAnswer = "perhaps an error that a server answered; get the file again";

// The first that fits is used, so longer ones come before shorter ones with the same beginning.
constexpr Magic kMagics[] = {
    {0, "version https://git-lfs."sv, kPointer, "a git-lfs pointer, not the file itself", "run git lfs pull"},
    {0, "version https://hawser."sv, kPointer, "a git-lfs pointer, not the file itself", "run git lfs pull"},
    {0, "/annex/objects/"sv, kPointer, "a git-annex pointer, not the file itself", "run git annex get"},
    {0, "\x1f\x8b"sv, kPacked, "a gzip file", "unpack it with gunzip"},
    {0, "\xfd\x37zXZ\0"sv, kPacked, "an xz file", "unpack it with xz -d"},
    {0, "\x28\xb5\x2f\xfd"sv, kPacked, "a zstd file", "unpack it with zstd -d"},
    {0, "\x04\x22\x4d\x18"sv, kPacked, "an lz4 file", "unpack it with lz4 -d"},
    {4, "1AY&SY"sv, kPacked, "a bzip2 file", "unpack it with bunzip2"},
    {0, "BZh"sv, kPacked, "a bzip2 file", "unpack it with bunzip2"},
    {0, "\x1f\x9d"sv, kPacked, "a file of compress (.Z)", "unpack it with uncompress"},
    {0, "LZIP"sv, kPacked, "an lzip file", "unpack it with lzip -d"},
    {0, "7z\xbc\xaf\x27\x1c"sv, kPacked, "a 7z archive", "unpack it with 7z x"},
    {0, "Rar!\x1a\x07"sv, kPacked, "a RAR archive", "unpack it with unrar x"},
    {257, "ustar"sv, kPacked, "a tar archive", "unpack it with tar -xf"},
    {0, "\xff\xd8\xff"sv, kImage, "a JPEG image"},
    {0, "\x89PNG\r\n\x1a\n"sv, kImage, "a PNG image"},
    {0, "GIF87a"sv, kImage, "a GIF image"},
    {0, "GIF89a"sv, kImage, "a GIF image"},
    {0, "II*\0"sv, kImage, "a TIFF image"},
    {0, "MM\0*"sv, kImage, "a TIFF image"},
    {0, "II+\0"sv, kImage, "a TIFF image"},
    {0, "MM\0+"sv, kImage, "a TIFF image"},
    {0, "\0\0\0\x0cjP  \r\n\x87\n"sv, kImage, "a JPEG 2000 image"},
    {0, "\xff\x4f\xff\x51"sv, kImage, "a JPEG 2000 image"},
    {0, "\0\0\0\x0cJXL \r\n\x87\n"sv, kImage, "a JPEG XL image"},
    {0, "\xff\x0a"sv, kImage, "a JPEG XL image"},
    {0, "8BPS"sv, kImage, "a Photoshop image"},
    {0, "gimp xcf "sv, kImage, "a GIMP image"},
    {0, "qoif"sv, kImage, "a QOI image"},
    {0, "\x76\x2f\x31\x01"sv, kImage, "an OpenEXR image"},
    {0, "#?RADIANCE"sv, kImage, "a Radiance image"},
    {0, "\0\0\1\0"sv, kImage, "an icon (.ico)"},
    {128, "DICM"sv, kImage, "a DICOM image"},
    {0, "%PDF-"sv, kOther, "a PDF document"},
    {0, "%!PS"sv, kOther, "a PostScript document"},
    {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, kOther, "an OLE file (Thumbs.db, or an old Office document)"},
    {0, "\0\x05\x16\x07"sv, kOther, "an AppleDouble file (what macOS keeps beside a file)", "remove it"},
    {0, "\0\0\0\1Bud1"sv, kOther, "a .DS_Store file of macOS", "remove it"},
    {0,
     "\x7f"
     "ELF"sv,
     kOther, kElfContent},
    {0, "!<arch>\n"sv, kOther, "a static library (.a)"},
    {0, "!<thin>\n"sv, kOther, "a static library (.a)"},
    {0, "BC\xc0\xde"sv, kOther, "LLVM bitcode"},
    {0, "\x93NUMPY"sv, kOther, "an array of NumPy (.npy)"},
    {0, "\x89HDF\r\n\x1a\n"sv, kOther, "an HDF5 file"},
    {2, "\n\x05<unk>\x15"sv, kOther, "a model of SentencePiece (tokenizer.model)"},
    {2, "\n\x05<pad>\x15"sv, kOther, "a model of SentencePiece (tokenizer.model)"},
    {0, "IQ== 0\n"sv, kOther, "a vocabulary of tiktoken"},
    {0, "GGUF"sv, kOther, "a GGUF model"},
    {0, "PAR1"sv, kOther, "a Parquet file"},
    {0, "LITPKDS"sv, kOther, "a packed dataset of lit-gpt"},
    {0, "ARROW1"sv, kOther, "an Arrow file"},
    {0, "SQLite format 3\0"sv, kOther, "an SQLite database"},
    {0, "MATLAB 5.0"sv, kOther, "a MATLAB file"},
    {0, "OggS"sv, kOther, "an Ogg file"},
    {0, "ID3"sv, kOther, "an MP3 file"},
    {0, "\x1a\x45\xdf\xa3"sv, kOther, "a Matroska or WebM video"},
};

bool has(std::string_view begin, std::size_t offset, std::string_view bytes) {
  return begin.size() >= offset + bytes.size() && begin.substr(offset, bytes.size()) == bytes;
}

bool is_blank(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

std::string_view without_blanks(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// RIFF and ISO files name their kind in the bytes after their size.
ContentKind container_kind(std::string_view begin) {
  if (has(begin, 0, "RIFF")) {
    if (has(begin, 8, "WEBP")) return {kImage, "a WebP image", ""};
    if (has(begin, 8, "AVI ")) return {kOther, "an AVI video", ""};
    if (has(begin, 8, "WAVE")) return {kOther, "a WAV sound", ""};
  }
  if (!has(begin, 4, "ftyp")) return {};
  const std::string_view brand = begin.substr(8, 4);
  for (const std::string_view each : {"avif"sv, "avis"sv}) {
    if (brand == each) return {kImage, "an AVIF image", ""};
  }
  for (const std::string_view each : {"heic"sv, "heix"sv, "heim"sv, "heis"sv, "hevc"sv, "hevx"sv, "mif1"sv, "msf1"sv}) {
    if (brand == each) return {kImage, "a HEIC image", ""};
  }
  return {kOther, "an MP4 or QuickTime video", ""};
}

// The magic number has only two letters, so this also checks the size that the header behind it gives for itself.
bool is_bitmap(std::string_view begin) {
  constexpr std::array<unsigned char, 7> kHeaders = {12, 40, 52, 56, 64, 108, 124};
  return has(begin, 0, "BM") && has(begin, 15, "\0\0\0"sv) &&
         std::ranges::find(kHeaders, static_cast<unsigned char>(begin[14])) != kHeaders.end();
}

bool is_netpbm(std::string_view begin) {
  return begin.size() > 2 && begin[0] == 'P' && begin[1] >= '1' && begin[1] <= '7' && is_blank(begin[2]);
}

// The name of the first file in a ZIP archive tells which program wrote it.
ContentKind zip_kind(std::string_view begin) {
  if (!has(begin, 0, "PK\x03\x04") && !has(begin, 0, "PK\x05\x06")) return {};
  const std::size_t length = begin.size() > 30 ? static_cast<unsigned char>(begin[26]) : 0;
  const std::string_view name = begin.substr(std::min<std::size_t>(30, begin.size())).substr(0, length);
  if (name.ends_with("data.pkl") || name.ends_with("/.format_version") || name.ends_with("constants.pkl"))
    return {kPytorch, "a file that PyTorch's torch.save has written (.pt)", "", true};
  if (name.ends_with(".npy")) return {kOther, "a file of NumPy arrays (.npz)", "", true};
  return {kPacked, "a ZIP archive", "unpack it with unzip", true};
}

// Pickles of protocol 2 and later begin with their protocol. CIFAR's first pickles have protocol 0.
ContentKind pickle_kind(std::string_view begin) {
  if (has(begin, 0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv))
    return {kPytorch, "a file that PyTorch's torch.save has written (.pt)", "", true};
  const bool is_marked = begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
  if (is_marked || has(begin, 0, "(dp1\n") || has(begin, 0, "(dp0\n")) return {kPickle, "a pickle of Python", ""};
  return {};
}

// Safetensors files begin with the length of a JSON header, and the header.
bool is_safetensors(std::string_view begin) {
  return begin.size() > 9 && begin[8] == '{' && has(begin, 4, "\0\0\0\0"sv) && (begin[9] == '"' || is_blank(begin[9]));
}

bool is_idx(std::string_view begin) {
  constexpr std::array<unsigned char, 6> kTypes = {0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e};
  return has(begin, 0, "\0\0"sv) && begin.size() > 4 && begin[3] >= 1 && begin[3] <= 8 &&
         std::ranges::find(kTypes, static_cast<unsigned char>(begin[2])) != kTypes.end();
}

ContentKind binary_kind(std::string_view begin) {
  for (const Magic& magic : kMagics) {
    const bool is_sure = magic.bytes.size() >= kSureBytes && magic.bytes[0] != '\0';
    if (has(begin, magic.offset, magic.bytes)) return {magic.group, magic.what, magic.remedy, is_sure};
  }
  for (const auto& kind : {container_kind(begin), zip_kind(begin), pickle_kind(begin)}) {
    if (kind.group != kUnknown) return kind;
  }
  if (is_bitmap(begin)) return {kImage, "a BMP image", ""};
  if (is_netpbm(begin)) return {kImage, "a netpbm image (.pbm, .pgm, .ppm)", ""};
  if (is_safetensors(begin)) return {kOther, kSafetensorsContent, ""};
  if (is_idx(begin)) return {kOther, "an IDX file", ""};
  if (begin.size() >= 16 && begin.find_first_not_of('\0') == std::string_view::npos)
    return {kOther, "a file that begins with zeros, as one that was never written whole", kGetAgain};
  return {};
}

// The number of bytes of a UTF-8 character that begins with this byte; 0 if none does, or it is a control character.
std::size_t length_of_character(unsigned char first) {
  if (first < 0x20) return first == '\t' || first == '\n' || first == '\r' || first == '\f' ? 1 : 0;
  if (first < 0x7f) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The first words of a text, without characters that a terminal would obey.
std::string quoted_beginning(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string words;
  for (const char letter : text.substr(0, text.find_first_of("\r\n"))) {
    if (words.size() == kMost) break;
    words += letter >= ' ' && letter < 0x7f ? letter : '?';
  }
  return "'" + words + "'";
}

ContentKind utf8_kind(std::string_view begin) {
  const std::string_view text = without_blanks(begin);
  const std::string start = lower_case(text);
  if (text.empty()) return {kText, "text of nothing but blanks", kGetAgain};
  if (start.find("<svg") != std::string::npos) return {kImage, "an SVG drawing", ""};
  for (const char* tag : {"<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta", "<div", "<!--"}) {
    if (start.starts_with(tag)) return {kWebPage, "an HTML page", kAnswer};
  }
  if (start.starts_with("<?xml") || start.starts_with("<error")) return {kWebPage, "an XML document", kAnswer};
  if (text.front() == '{' || start.starts_with("[{")) return {kWebPage, kJsonContent, kAnswer};
  return {kText, "text that begins with " + quoted_beginning(text), ""};
}

ContentKind text_kind(std::string_view begin) {
  if (has(begin, 0, "\xff\xfe\0\0"sv) || has(begin, 0, "\0\0\xfe\xff"sv)) return {kText, "text in UTF-32", ""};
  if (has(begin, 0, "\xff\xfe") || has(begin, 0, "\xfe\xff")) return {kText, "text in UTF-16", ""};
  if (!is_utf8_text(begin)) return {};
  ContentKind kind = utf8_kind(begin);
  kind.is_sure = begin.size() >= kSureText;
  return kind;
}

}  // namespace

bool is_utf8_text(std::string_view begin) {
  for (std::size_t at = 0; at < begin.size();) {
    const std::size_t length = length_of_character(static_cast<unsigned char>(begin[at]));
    if (length == 0) return false;
    for (std::size_t i = at + 1; i < std::min(at + length, begin.size()); ++i) {
      if ((static_cast<unsigned char>(begin[i]) & 0xc0) != 0x80) return false;
    }
    at += length;
  }
  return true;
}

ContentKind content_kind(std::span<const std::uint8_t> begin) {
  const std::string_view bytes(reinterpret_cast<const char*>(begin.data()), std::min(begin.size(), kContentBytes));
  if (bytes.empty()) return {kEmpty, "an empty file", kGetAgain};
  const ContentKind binary = binary_kind(bytes);
  return binary.group != kUnknown ? binary : text_kind(bytes);
}

ContentKind content_kind_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::array<std::uint8_t, kContentBytes> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(begin.data()), begin.size());
  if (file.bad() || (!file && file.gcount() == 0 && !file.eof())) return {};
  return content_kind(std::span(begin).first(static_cast<std::size_t>(file.gcount())));
}

namespace {

constexpr unsigned char kOwnOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

bool is_elf_of_this_machine(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOwnOrder;
}

}  // namespace

std::uint64_t least_elf_size(std::string_view file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return 0;
  std::memcpy(&header, file.data(), sizeof header);
  if (!is_elf_of_this_machine(header)) return 0;
  const std::uint64_t sections = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  const std::uint64_t segments = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  std::uint64_t size = std::max(sections, segments);
  if (segments > file.size() || header.e_phoff > segments) return size;
  for (std::uint64_t at = header.e_phoff; at < segments; at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + at, sizeof segment);
    size = std::max(size, segment.p_offset + segment.p_filesz);
  }
  return size;
}

std::string describe_content(const ContentKind& kind, const std::string& remedy) {
  if (kind.group == kUnknown) return "";
  const std::string& advice = kind.remedy.empty() ? remedy : kind.remedy;
  return "it is " + kind.what + (advice.empty() ? "" : ": " + advice);
}

}  // namespace eave
