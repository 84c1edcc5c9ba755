#include "data/tokens/encoded_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/directory_lock.h"
#include "base/files/output_file.h"
#include "data/files/mapped_file.h"
#include "data/tokens/token_file.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
constexpr std::chrono::seconds kPatience{3600};

// The last bytes of a file of kept tokens. They are at its end because the counts are known last.
struct Trailer {
  std::array<char, 8> magic = {'E', 'A', 'V', 'E', 'T', 'O', 'K', '1'};
  std::uint64_t bytes_per_token = 0, training = 0, tokens = 0;
  Hash128 hash;  // of all bytes before the trailer
};
static_assert(sizeof(Trailer) == 48);

// Calls `take` on the tokens of the parts to train on, document by document, and then on those to test with. Returns
// the number of the former.
std::int64_t encode_documents(const fs::path& folder, const TextParts& parts, Vocabulary& vocabulary,
                              const std::function<void(std::span<const std::int32_t>)>& take) {
  std::int64_t training = 0;
  std::vector<std::int32_t> tokens;
  for (const bool is_test : {false, true}) {
    for (const TextDocument& document : parts.documents) {
      const std::uint64_t size = is_test ? document.held : document.size - document.held;
      if (size == 0) continue;
      const std::vector<std::uint8_t> content = read_document(folder, document);
      tokens.clear();
      const bool is_begin = !is_test || document.held == document.size;
      if (is_begin && vocabulary.opening() != kNoLabel) tokens.push_back(vocabulary.opening());
      const std::span<const std::uint8_t> bytes(content);
      vocabulary.encode(is_test ? bytes.last(size) : bytes.first(size), tokens);
      const bool is_end = is_test || document.held == 0;
      if (is_end && vocabulary.separator() != kNoLabel) tokens.push_back(vocabulary.separator());
      take(tokens);
      if (!is_test) training += std::ssize(tokens);
    }
  }
  return training;
}

// Writes tokens with their low `width` bytes first.
class KeptTokensWriter {
 public:
  KeptTokensWriter(const OutputPath& path, std::size_t width)
      : width_(width), file_(path, FileCalls::Existing::kReplace) {}
  void write(std::span<const std::int32_t> tokens) {
    for (const std::int32_t token : tokens) {
      for (std::size_t i = 0; i < width_; ++i) piece_ += static_cast<char>(token >> (8 * i));
      if (piece_.size() >= kPieceBytes) flush();
    }
    tokens_ += tokens.size();
  }
  void finish(std::int64_t training) {
    flush();
    const Trailer trailer{.bytes_per_token = width_,
                          .training = static_cast<std::uint64_t>(training),
                          .tokens = tokens_,
                          .hash = hasher_.hash()};
    file_.write({reinterpret_cast<const char*>(&trailer), sizeof trailer});
    file_.finish();
  }

 private:
  void flush() {
    hasher_.add(piece_);
    file_.write(piece_);
    piece_.clear();
  }
  std::size_t width_;
  OutputFile file_;
  std::string piece_;
  std::uint64_t tokens_ = 0;
  Hasher hasher_;
};

Hash128 hash_before_trailer(const ByteSource& file) {
  Hasher hasher;
  std::vector<std::uint8_t> piece(kPieceBytes);
  const std::uint64_t end = file.size() - sizeof(Trailer);
  for (std::uint64_t at = 0; at < end;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - at));
    if (file.read_at(at, std::span(piece).first(count)) != count) return {};
    hasher.add({reinterpret_cast<const char*>(piece.data()), count});
    at += count;
  }
  return hasher.hash();
}

// Nothing if there is no such file, or it is damaged: then it is written anew.
std::optional<EncodedText> read_kept_tokens(const fs::path& path, const Vocabulary& vocabulary) {
  try {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error))) return std::nullopt;
    auto file = std::make_unique<MappedFile>(FileSource(path));
    Trailer trailer;
    const Trailer right;
    std::array<std::uint8_t, sizeof trailer> bytes;
    if (file->size() < sizeof trailer || file->read_at(file->size() - sizeof trailer, bytes) != sizeof trailer)
      return std::nullopt;
    std::memcpy(static_cast<void*>(&trailer), bytes.data(), sizeof trailer);
    const std::uint64_t width = trailer.bytes_per_token, tokens = (file->size() - sizeof trailer) / 2;
    const bool is_right = trailer.magic == right.magic && (width == 2 || width == 4) && trailer.tokens <= tokens &&
                          trailer.tokens * width + sizeof trailer == file->size() &&
                          trailer.training <= trailer.tokens && hash_before_trailer(*file) == trailer.hash;
    if (!is_right) return std::nullopt;
    std::vector<TokenFiles::File> files;
    files.push_back({std::move(file), {0, static_cast<int>(width), static_cast<std::int64_t>(trailer.tokens), 0}});
    return EncodedText{std::make_shared<TokenFiles>(std::move(files), vocabulary.size()),
                       static_cast<std::int64_t>(trailer.training), "tokens kept in " + path.string()};
  } catch (const Error&) {
    return std::nullopt;
  }
}

void keep_tokens(const OutputPath& target, const fs::path& folder, const TextParts& parts, Vocabulary& vocabulary) {
  const OutputPath partial = target.with(".partial");
  try {
    KeptTokensWriter writer(partial, vocabulary.size() <= 65536 ? 2 : 4);
    writer.finish(encode_documents(folder, parts, vocabulary,
                                   [&](std::span<const std::int32_t> tokens) { writer.write(tokens); }));
    rename_file(partial, target);
  } catch (...) {
    remove_tree(partial);
    throw;
  }
}

EncodedText encode_in_memory(const fs::path& folder, const TextParts& parts, Vocabulary& vocabulary) {
  std::vector<std::int32_t> all;
  const std::int64_t training = encode_documents(folder, parts, vocabulary, [&](std::span<const std::int32_t> tokens) {
    all.insert(all.end(), tokens.begin(), tokens.end());
  });
  return {std::make_shared<MemoryTokens<std::int32_t>>(std::move(all)), training, ""};
}

}  // namespace

std::string identity_of(const TextParts& parts, const Vocabulary& vocabulary) {
  Hasher hasher;
  hasher.add(vocabulary.identity() + "\n");
  for (const TextDocument& document : parts.documents)
    hasher.add(document.hash.text() + " " + std::to_string(document.held) + " ");
  return hasher.hash().text();
}

EncodedText encode_text(const fs::path& folder, const TextParts& parts, Vocabulary& vocabulary, const fs::path& cache) {
  const std::string name = identity_of(parts, vocabulary) + ".tokens";
  if (cache.empty()) return encode_in_memory(folder, parts, vocabulary);
  if (auto kept = read_kept_tokens(cache / name, vocabulary)) return *std::move(kept);
  try {
    make_cache_folder(cache);
    const DirectoryLock lock(OutputFolder(cache), name + ".lock", "encoding text", kPatience);
    if (auto kept = read_kept_tokens(cache / name, vocabulary)) return *std::move(kept);
    keep_tokens(OutputFolder(cache) / name, folder, parts, vocabulary);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kCannotCreate && error.code() != ExitCode::kInputOutput) throw;
  }
  if (auto kept = read_kept_tokens(cache / name, vocabulary)) return *std::move(kept);
  return encode_in_memory(folder, parts, vocabulary);
}

}  // namespace eave
