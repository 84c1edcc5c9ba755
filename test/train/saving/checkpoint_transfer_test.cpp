// Ranks without access do not see the checkpoint directory. Their files go through rank 0, whole or not at all, and no
// rank waits for ever.
#include "checkpoint/checkpoint_transfer.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_files.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "eave/random.h"
#include "test/base/failing_calls.h"
#include "test/base/power_loss.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/train/saving/checkpoint_files.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

const std::vector<int> kWithoutAccess = {1, 3};  // of four ranks
constexpr std::int64_t kStep = 7;

std::string random_bytes(int rank, std::size_t size) {
  std::string bytes(size, '\0');
  RandomStream random({5, Purpose::kTest, 11}, static_cast<std::uint64_t>(rank));
  for (std::size_t i = 0; i < size; i += 997) bytes[i] = static_cast<char>(random.below(256));
  return bytes;
}

// The file of rank 1 takes several rounds of sending, and the last round is not full. Rank 3's file takes one round.
std::string bytes_of_rank(int rank) { return random_bytes(rank, rank == 1 ? (std::size_t{20} << 20) + 5 : 3); }

void write_in_two(FileCalls& calls, const std::string& bytes) {
  OutputFile file("any", FileCalls::Existing::kRefuse, calls);
  file.write(std::string_view(bytes).substr(0, 1));
  file.write(std::string_view(bytes).substr(1));
  file.finish();
}

TEST(RanksWithoutAccess, send_files_to_rank_0_and_fetch_them_again) {
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path() / "checkpoint";
  on_ranks({"threads", 4}, [&](Transport& transport) {
    const bool is_first = transport.rank() == 0;
    const std::string mine = bytes_of_rank(transport.rank());
    ReceivedFiles received(directory, kStep, system_file_calls());
    send_files(
        transport, kWithoutAccess, [&](FileCalls& calls) { write_in_two(calls, mine); },
        is_first ? &received : nullptr);
    const std::filesystem::path partial = partial_folder(directory, kStep).path();
    if (is_first) {
      received.finish();
      for (const int rank : kWithoutAccess)
        EXPECT_EQ(bytes_in(partial / rank_file_name(rank)), bytes_of_rank(rank)) << rank;
      EXPECT_FALSE(std::filesystem::exists(partial / rank_file_name(2)));
    }
    bool has_come = false;
    fetch_files(transport, kWithoutAccess, is_first ? partial : "/nowhere", rank_file_name(transport.rank()),
                [&](ByteStream& source) {
                  std::string bytes(source.size(), '\0');
                  source.read(bytes.data(), bytes.size());
                  EXPECT_EQ(bytes, mine) << transport.rank();
                  char more = 0;
                  EXPECT_THROW(source.read(&more, 1), Error);
                  has_come = true;
                });
    EXPECT_EQ(has_come, transport.rank() == 1 || transport.rank() == 3);
  });
}

TEST(RanksWithoutAccess, have_files_that_outlast_a_loss_of_power_once_they_are_finished) {
  const TemporaryDirectory temporary, after;
  on_ranks({"threads", 4}, [&](Transport& transport) {
    RecordedCalls calls(temporary.path());
    ReceivedFiles received(temporary.path() / "checkpoint", kStep, calls);
    const std::string mine = bytes_of_rank(transport.rank());
    send_files(
        transport, kWithoutAccess, [&](FileCalls& sent) { write_in_two(sent, mine); },
        transport.rank() == 0 ? &received : nullptr);
    if (transport.rank() != 0) return;
    received.finish();
    calls.replay({.calls = calls.count(), .data = RecordedCalls::Data::kLost, .names_kept = calls.count()},
                 after.path() / "disk");
    const std::filesystem::path partial = partial_folder(after.path() / "disk/checkpoint", kStep).path();
    for (const int rank : kWithoutAccess)
      EXPECT_EQ(bytes_in(partial / rank_file_name(rank)), bytes_of_rank(rank)) << rank;
  });
}

// Rank 1 stops reading after one byte, rank 3 before the first, and the other ranks go on. In a second call no rank
// wants a file.
TEST(RanksWithoutAccess, that_stop_reading_leave_all_in_step) {
  const TemporaryDirectory temporary;
  put_bytes(temporary.path() / "file", bytes_of_rank(1));
  on_ranks({"threads", 4}, [&](Transport& transport) {
    const auto give_up = [&](ByteStream& source) {
      char byte = 0;
      if (transport.rank() == 1) source.read(&byte, 1);
      throw Error(ExitCode::kBadData, "enough");
    };
    if (lacks_access(kWithoutAccess, transport.rank())) {
      EXPECT_THROW(fetch_files(transport, kWithoutAccess, temporary.path(), "file", give_up), Error);
    } else {
      fetch_files(transport, kWithoutAccess, temporary.path(), "file", give_up);
    }
    fetch_files(transport, kWithoutAccess, temporary.path(), "", give_up);
    EXPECT_EQ(transport.all_gather(std::to_string(transport.rank())).back(), "3");
  });
}

TEST(RanksWithoutAccess, stop_sending_when_rank_0_cannot_write) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 4}, [&](Transport& transport) {
    // Creating two directories and a file succeeds. All later calls fail.
    FailingCalls calls({4, FailingCalls::Kind::kNoSpace, true});
    ReceivedFiles received(temporary.path() / "checkpoint", kStep, calls);
    const std::string mine = bytes_of_rank(1);
    bool is_through = false;
    const auto counting = make_counting_transport(transport);
    send_files(
        *counting, kWithoutAccess,
        [&](FileCalls& sent) {
          write_in_two(sent, mine);
          is_through = true;
        },
        transport.rank() == 0 ? &received : nullptr);
    EXPECT_EQ(is_through, lacks_access(kWithoutAccess, transport.rank()));
    EXPECT_EQ(counting->counters().calls, 2) << "a round, in which rank 0 says so";
    if (transport.rank() != 0) return;
    EXPECT_TRUE(says(error_of([&] { received.finish(); }).what(), "rank-1.state: No space left"));
  });
}

// A rank without access fails for another reason while it sends. Only the transport tells the other ranks.
TEST(RanksWithoutAccess, that_are_lost_end_the_job) {
  const TemporaryDirectory temporary;
  const EndedJob ended = run_job(4, [&](Transport& transport) {
    ReceivedFiles received(temporary.path() / "checkpoint", kStep, system_file_calls());
    send_files(
        transport, kWithoutAccess,
        [&](FileCalls& calls) {
          if (transport.rank() == 3) throw Error(ExitCode::kResource, "no memory");
          write_in_two(calls, bytes_of_rank(1));
        },
        transport.rank() == 0 ? &received : nullptr);
  });
  EXPECT_EQ(ended.code, 71);
}

class ReadWithoutAccess : public testing::Test {
 protected:
  ReadWithoutAccess() {
    write_crafted(directory_, 5);
    write_crafted(directory_, 9);
  }
  std::filesystem::path seen_by(const Transport& transport, const std::vector<int>& without_access = {1, 2}) const {
    return lacks_access(without_access, transport.rank()) ? std::filesystem::path("/nowhere") : directory_;
  }
  void expect_found(std::int64_t step, std::size_t passed_over, const std::vector<int>& without_access) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      const auto found = find_checkpoint(transport, seen_by(transport, without_access), without_access);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->manifest.step, step);
      EXPECT_EQ(encode_manifest(found->manifest), encode_manifest(read_manifest(directory_, step)));
      ASSERT_EQ(found->passed_over.size(), passed_over);
    });
  }
  // Expects that all ranks refuse the checkpoint with the same message, which names the file.
  void expect_refused(const Manifest& manifest, const std::string& why) {
    const EndedJob ended = run_job(3, [&](Transport& transport) {
      const std::vector<int> without_access = {1, 2};
      const std::filesystem::path place = seen_by(transport);
      CheckpointFiles(transport, without_access, place, manifest).read(transport.rank() % 2);
    });
    EXPECT_EQ(ended.code, 65);
    for (const std::string& message : ended.messages) {
      EXPECT_NE(message.find("rank-1.state"), std::string::npos) << message;
      EXPECT_NE(message.find(why), std::string::npos) << message;
    }
  }

  TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path() / "checkpoint";
  const std::filesystem::path file_ = directory_ / "step-000009/rank-1.state";
};

TEST_F(ReadWithoutAccess, of_the_newest_whole_checkpoint_is_the_same_on_all_ranks) {
  const std::vector<std::vector<int>> cases = {{1, 2}, {1}, {2}};
  for (const std::vector<int>& without_access : cases) expect_found(9, 0, without_access);
  flip_bit(file_, 8 * std::filesystem::file_size(file_) - 200);
  for (const std::vector<int>& without_access : cases) expect_found(5, 1, without_access);
}

TEST_F(ReadWithoutAccess, gives_each_rank_the_file_it_asks_for_and_all_headers) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const std::vector<int> without_access = {1, 2};
    const std::filesystem::path place = seen_by(transport);
    const Manifest manifest = read_manifest_on_all(transport, without_access, place, 9);
    CheckpointFiles files(transport, without_access, place, manifest);
    const int wanted = transport.rank() == 2 ? 0 : transport.rank();
    const SavedRank saved = files.read(wanted);
    EXPECT_EQ(saved.header.rank, wanted);
    EXPECT_EQ(std::vector<float>(saved.body.begin(), saved.body.begin() + 37), crafted_values(37, 9));
    EXPECT_TRUE(files.read(-1).header.vectors.empty());
    const std::vector<CheckpointHeader> headers = files.headers();
    ASSERT_EQ(headers.size(), 2u);
    EXPECT_EQ(headers[1].rank, 1);
    EXPECT_EQ(headers[1].vectors, read_rank(directory_, manifest, 1, nullptr).vectors);
  });
}

TEST_F(ReadWithoutAccess, of_what_is_damaged_is_refused_on_all_ranks) {
  const Manifest manifest = read_manifest(directory_, 9);
  flip_bit(file_, 8 * std::filesystem::file_size(file_) - 200);
  expect_refused(manifest, "not what was written");
  std::filesystem::resize_file(file_, 100);
  expect_refused(manifest, "it has 100 bytes");
  put_bytes(file_, "");
  expect_refused(manifest, "it has 0 bytes");
  std::filesystem::remove(file_);
  expect_refused(manifest, "cannot open");
}

}  // namespace
}  // namespace eave
