#include "checkpoint/checkpoint_sending.h"

#include <cerrno>
#include <string>

#include "checkpoint/blind_ranks.h"
#include "checkpoint/checkpoint_directory.h"

namespace eave {
namespace {

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
class SentFile final : public FileCalls {
 public:
  SentFile(SendingRounds& rounds, std::size_t most) : rounds_(rounds), most_(most) {}

  int create(const OutputPath&, Existing) override { return 0; }
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
  int close(int) override { return 0; }
  int open_directory(const OutputFolder&) override { return refuse(); }
  int make_directory(const OutputPath&) override { return refuse(); }
  int rename(const OutputPath&, const OutputPath&) override { return refuse(); }
  int remove(const OutputPath&) override { return refuse(); }

 private:
  static int refuse() {
    errno = ENOSYS;
    return -1;
  }
  void send() {
    rounds_.next(waiting_);
    waiting_.clear();
  }

  SendingRounds& rounds_;
  const std::size_t most_;
  std::string waiting_;
};

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

void send_files(Transport& transport, const std::vector<int>& blind, const std::function<void(FileCalls&)>& write,
                ReceivedFiles* files) {
  SendingRounds rounds(transport, files);
  if (is_blind(blind, transport.rank())) {
    SentFile file(rounds, bytes_at_a_time(blind));
    write(file);
  }
  while (!rounds.are_over()) rounds.next("");
}

}  // namespace eave
