#include "checkpoint/checkpoint_transfer.h"

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_format.h"
#include "eave/check.h"

namespace eave {
namespace {

// Bytes of one file that travel in one round. The parts of all files travel together, and are in rank 0's memory
// together. They have at most 16 MiB, or 64 KiB per file if that is more.
std::size_t bytes_at_a_time(const std::vector<int>& without_access) {
  constexpr std::size_t kOfAll = std::size_t{16} << 20, kLeast = std::size_t{64} << 10;
  return std::max(kLeast, kOfAll / std::max<std::size_t>(1, without_access.size()));
}

// All ranks go through the same rounds. The first round in which no rank sends anything, or rank 0 has failed, is the
// last.
class SendingRounds {
 public:
  SendingRounds(Transport& transport, ReceivedFiles* files) : transport_(transport), files_(files) {}

  bool are_over() const { return are_over_; }

  void next(const std::string& mine) {
    constexpr const char* kGoOn = "go on";
    const std::vector<std::string> texts = transport_.gather(mine);  // on rank 0
    bool has_come = false;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      if (texts[rank].empty()) continue;
      files_->add(static_cast<int>(rank), texts[rank]);
      has_come = true;
    }
    are_over_ = transport_.broadcast_text(has_come && !files_->has_failed() ? kGoOn : "") != kGoOn;
  }

 private:
  Transport& transport_;
  ReceivedFiles* const files_;
  bool are_over_ = false;
};

// A file whose bytes go to rank 0. Rank 0 creates, flushes and closes the real file, and reports failures.
class SentFile final : public SingleFileCalls {
 public:
  SentFile(SendingRounds& rounds, std::size_t most) : rounds_(rounds), most_(most) {}

  std::ptrdiff_t write(int, std::string_view bytes) override {
    if (rounds_.are_over()) return static_cast<std::ptrdiff_t>(bytes.size());  // rank 0 has failed and takes no more
    bytes = bytes.substr(0, most_ - waiting_.size());
    waiting_ += bytes;
    if (waiting_.size() == most_) send();
    return static_cast<std::ptrdiff_t>(bytes.size());
  }
  int flush(int) override {
    if (!waiting_.empty() && !rounds_.are_over()) send();
    return 0;
  }

 private:
  void send() {
    rounds_.next(waiting_);
    waiting_.clear();
  }

  SendingRounds& rounds_;
  const std::size_t most_;
  std::string waiting_;
};

// A part that a rank gets in a round: kMore or kLast, then the kind of its content, then the content.
constexpr char kMore = '+', kLast = '.';
constexpr char kNothing = '-', kBytes = 'b', kFailure = 'f';  // kBytes: the file's size, then its next bytes

// On rank 0: the file of one rank without access.
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

void ReceivedFiles::add(int rank, std::string_view bytes) {
  if (failure_) return;
  try {
    if (!files_.contains(rank)) {
      const OutputFolder partial = partial_folder(directory_, step_);
      make_directory(directory_, calls_);
      make_directory(partial, calls_);
      files_.try_emplace(rank, partial / rank_file_name(rank), FileCalls::Existing::kRefuse, calls_);
    }
    files_.at(rank).write(bytes);
  } catch (const Error& error) {
    failure_ = error;
    files_.clear();
  }
}

void ReceivedFiles::finish() {
  if (failure_) throw *failure_;
  std::map<int, OutputFile> files = std::exchange(files_, {});
  for (auto& [rank, file] : files) file.finish();
}

void send_files(Transport& transport, const std::vector<int>& without_access,
                const std::function<void(FileCalls&)>& write, ReceivedFiles* files) {
  SendingRounds rounds(transport, files);
  if (lacks_access(without_access, transport.rank())) {
    SentFile file(rounds, bytes_at_a_time(without_access));
    write(file);
  }
  while (!rounds.are_over()) rounds.next("");
}

void fetch_files(Transport& transport, const std::vector<int>& without_access, const std::filesystem::path& directory,
                 const std::string& name, const std::function<void(ByteStream&)>& take) {
  const bool takes = lacks_access(without_access, transport.rank()) && !name.empty();
  const std::vector<std::string> names = transport.gather(takes ? name : "");
  FetchingRounds rounds(transport, files_to_read(names, directory, bytes_at_a_time(without_access)));
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
