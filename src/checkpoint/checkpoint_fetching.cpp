#include "checkpoint/checkpoint_fetching.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>

#include "checkpoint/blind_ranks.h"
#include "checkpoint/checkpoint_format.h"
#include "eave/check.h"

namespace eave {
namespace {

// A part that a rank gets in a round: kMore or kLast, then the kind of its content, then the content.
constexpr char kMore = '+', kLast = '.';
constexpr char kNothing = '-', kBytes = 'b', kFailure = 'f';  // kBytes: the file's size, then its next bytes

// On rank 0: the file of one blind rank.
class ReadFile {
 public:
  ReadFile(std::filesystem::path path, std::size_t most) : path_(std::move(path)), most_(most) {}
  bool is_over() const { return is_over_; }

  std::string next() {
    if (is_over_) return {kMore, kNothing};
    try {
      return read();
    } catch (const Error& error) {
      is_over_ = true;
      return std::string{kMore, kFailure} + std::to_string(static_cast<int>(error.code())) + "\n" + error.what();
    }
  }

 private:
  std::string read() {
    if (!file_) left_ = (file_ = std::make_unique<InputFile>(path_))->size();
    const std::uint64_t size = file_->size(), count = std::min<std::uint64_t>(left_, most_);
    std::string part{kMore, kBytes};
    part.append(reinterpret_cast<const char*>(&size), sizeof size);
    const std::size_t head = part.size();
    part.resize(head + count);
    file_->read(part.data() + head, count);
    left_ -= count;
    is_over_ = left_ == 0;
    return part;
  }

  const std::filesystem::path path_;
  const std::size_t most_;
  std::unique_ptr<InputFile> file_;
  std::uint64_t left_ = 0;
  bool is_over_ = false;
};

// All ranks go through the same rounds, until rank 0 has nothing left to send.
class FetchingRounds {
 public:
  // `files`: on rank 0, one per rank; nullptr for a rank that wants none.
  FetchingRounds(Transport& transport, std::vector<std::unique_ptr<ReadFile>> files)
      : transport_(transport), files_(std::move(files)) {}

  bool are_over() const { return are_over_; }

  std::string next() {
    std::vector<std::string> parts;
    bool is_last = true;
    for (const auto& file : files_) {
      parts.push_back(file ? file->next() : std::string{kMore, kNothing});
      is_last = is_last && (!file || file->is_over());
    }
    for (std::string& part : parts) part.front() = is_last ? kLast : kMore;
    std::string mine = transport_.scatter(parts);
    are_over_ = mine.front() == kLast;
    return mine;
  }

 private:
  Transport& transport_;
  std::vector<std::unique_ptr<ReadFile>> files_;
  bool are_over_ = false;
};

class FetchedFile final : public ByteStream {
 public:
  explicit FetchedFile(FetchingRounds& rounds) : rounds_(rounds) {}

  std::uint64_t size() override {
    if (part_.empty()) fetch();
    return size_;
  }
  void read(char* into, std::uint64_t count) override {
    while (count > 0) {
      if (rest_.empty()) fetch();
      const std::size_t taken = std::min<std::size_t>(count, rest_.size());
      std::ranges::copy(rest_.substr(0, taken), into);
      rest_.remove_prefix(taken);
      into += taken;
      count -= taken;
    }
  }

 private:
  void fetch() {
    if (rounds_.are_over()) fail_to_read();
    part_ = rounds_.next();
    rest_ = std::string_view(part_).substr(2);
    if (part_[1] == kFailure) {
      throw Error(static_cast<ExitCode>(std::stoi(std::string(rest_))),
                  std::string(rest_.substr(rest_.find('\n') + 1)));
    }
    if (part_[1] != kBytes) fail_to_read();
    std::memcpy(&size_, rest_.data(), sizeof size_);
    rest_.remove_prefix(sizeof size_);
  }
  [[noreturn]] static void fail_to_read() {
    throw Error(ExitCode::kInputOutput, "cannot read a file of a checkpoint on rank 0: it ends too early");
  }

  FetchingRounds& rounds_;
  std::string part_;
  std::string_view rest_;  // the part of `part_` not yet read
  std::uint64_t size_ = 0;
};

std::vector<std::unique_ptr<ReadFile>> files_to_read(const std::vector<std::string>& names,
                                                     const std::filesystem::path& directory, std::size_t most) {
  std::vector<std::unique_ptr<ReadFile>> files;
  for (const std::string& name : names) {
    EAVE_CHECK(name.empty() || is_plain_name(name), "ranks ask for files of a checkpoint");
    files.push_back(name.empty() ? nullptr : std::make_unique<ReadFile>(directory / name, most));
  }
  return files;
}

}  // namespace

void fetch_files(Transport& transport, const std::vector<int>& blind, const std::filesystem::path& directory,
                 const std::string& name, const std::function<void(ByteStream&)>& take) {
  const bool takes = is_blind(blind, transport.rank()) && !name.empty();
  const std::vector<std::string> names = transport.gather(takes ? name : "");
  FetchingRounds rounds(transport, files_to_read(names, directory, bytes_at_a_time(blind)));
  std::exception_ptr failure;
  if (takes) {
    try {
      FetchedFile file(rounds);
      take(file);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  while (!rounds.are_over()) rounds.next();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace eave
