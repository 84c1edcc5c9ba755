#include "data/files/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "data/files/cifar10_file.h"
#include "data/files/idx.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Random bytes with stretches of zeros, as at the edges of images.
Bytes patterned(std::size_t count) {
  std::mt19937 random(7);
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = (i / 700) % 3 == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(random());
  return bytes;
}

// A file in a temporary directory of its own, so a child process has another one.
class SampleFile {
 public:
  explicit SampleFile(const Bytes& bytes) { write_bytes(path(), bytes); }
  explicit SampleFile(std::uintmax_t hole) : SampleFile(Bytes{}) { cut(hole); }
  fs::path path() const { return place_.path() / "samples"; }
  void cut(std::uintmax_t size) const { fs::resize_file(path(), size); }
  MappedFile mapped() const { return MappedFile(FileSource(path())); }

 private:
  TemporaryDirectory place_;
};

// The bytes that `source` reads at `offset`: at most `count`, fewer at the end of the file.
Bytes read(const ByteSource& source, std::uint64_t offset, std::size_t count) {
  Bytes bytes(count, 0xee);
  bytes.resize(source.read_at(offset, bytes));
  return bytes;
}

void expect_same_reads(const ByteSource& source, const ByteSource& as, std::uint64_t last, int times) {
  std::mt19937_64 random(11);
  for (int i = 0; i < times; ++i) {
    const std::uint64_t offset = random() % last;
    const std::size_t count = random() % 9000;
    ASSERT_EQ(read(source, offset, count), read(as, offset, count)) << count << " bytes at " << offset;
  }
}

TEST(MappedFile, reads_what_stands_in_the_file) {
  const SampleFile file(patterned(3'000'001));
  const MappedFile mapped = file.mapped();
  ASSERT_TRUE(mapped.is_mapped());
  EXPECT_EQ(mapped.name(), file.path().string());
  expect_same_reads(mapped, FileSource(file.path()), mapped.size(), 2000);
  EXPECT_TRUE(mapped.is_mapped());
}

TEST(MappedFile, gives_what_there_is_at_the_end) {
  const SampleFile file(patterned(10'000));
  const MappedFile mapped = file.mapped();
  EXPECT_EQ(read(mapped, 9'990, 100).size(), 10u);
  EXPECT_EQ(read(mapped, 10'000, 1).size(), 0u);
  EXPECT_EQ(read(mapped, UINT64_C(1) << 40, 5).size(), 0u);
  EXPECT_EQ(read(mapped, 5, 0).size(), 0u);
}

TEST(MappedFile, that_is_empty_is_not_mapped) {
  const SampleFile file(Bytes{});
  EXPECT_FALSE(file.mapped().is_mapped());
  EXPECT_EQ(read(file.mapped(), 0, 3).size(), 0u);
}

// Cuts the file within a page and at the end of a page. The rest of a page reads as zeros; the pages behind it raise
// SIGBUS. The file is read many times, because the signal must not stay blocked after the first.
TEST(MappedFile, that_is_cut_ends_where_it_was_cut) {
  for (const std::uintmax_t size : {500'001, 40'960, 100, 0}) {
    const SampleFile file(patterned(1'000'000));
    const MappedFile mapped = file.mapped();
    expect_same_reads(mapped, FileSource(file.path()), 1'000'000, 50);
    file.cut(size);
    const FileSource plain(file.path());
    expect_same_reads(mapped, plain, 1'000'000, 500);
    for (std::uint64_t offset = size < 4200 ? 0 : size - 4200; offset < size + 4200; offset += 7)
      ASSERT_EQ(read(mapped, offset, 30), read(plain, offset, 30)) << "at " << offset << ", cut at " << size;
    EXPECT_TRUE(mapped.is_mapped());
  }
}

TEST(MappedFile, that_is_cut_is_told_by_those_who_read_it) {
  const SampleFile images(idx_file({1000, 28, 28}, {1, 2, 3})), records(patterned(3073 * 100));
  const IdxImages idx{FileSource(images.path())};
  const MappedFile cifar = records.mapped();
  Bytes pixels(3072);
  idx.read(784 * 999, std::span(pixels).first(784));
  read_cifar_image(cifar, 99, pixels);
  images.cut(16 + 784 * 400);
  records.cut(3073 * 40);
  idx.read(784 * 399, std::span(pixels).first(784));
  read_cifar_image(cifar, 39, pixels);
  for (int image = 400; image < 1000; ++image) {
    const Refusal found = refusal_of([&] { idx.read(784 * image, std::span(pixels).first(784)); });
    ASSERT_EQ(found.code, ExitCode::kBadData) << image;
    ASSERT_EQ(found.text, images.path().string() + ": became shorter while it was in use: it ends before offset " +
                              std::to_string(16 + 784 * (image + 1)));
  }
  for (int record = 40; record < 100; ++record) {
    const Refusal found = refusal_of([&] { read_cifar_image(cifar, record, pixels); });
    ASSERT_EQ(found.code, ExitCode::kBadData) << record;
    ASSERT_TRUE(found.names("became shorter while it was in use")) << found;
  }
}

// The bytes of files that are in the memory of this process.
std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:") || line.starts_with("RssShmem:"))
      sum += std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  return sum;
}

TEST(MappedFile, that_is_large_is_read_and_takes_no_memory) {
  const SampleFile file(std::uintmax_t{1} << 30), largest(MappedFile::kLargest);
  const MappedFile read_only = file.mapped();
  EXPECT_FALSE(read_only.is_mapped());
  EXPECT_TRUE(largest.mapped().is_mapped());
  const std::uint64_t before = resident_bytes();
  Bytes sample(65536);
  for (std::uint64_t i = 0; (i + 1) * sample.size() <= read_only.size(); ++i)
    ASSERT_EQ(read_only.read_at(i * sample.size(), sample), sample.size());
  EXPECT_LE(resident_bytes(), before + (4 << 20));
}

// The fixture of tests that change the whole process. Each runs in a new process of its own.
class MappedFileProcess : public ::testing::Test {
 protected:
  MappedFileProcess() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Limits the address space, and reads. The file is read without a mapping although it would have fitted.
void read_with_little_address_space() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (256U << 20);
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
  const SampleFile file(patterned(100'000));
  const MappedFile mapped = file.mapped();
  const bool is_right = !mapped.is_mapped() && read(mapped, 500, 2000) == read(FileSource(file.path()), 500, 2000);
  ::_exit(is_right ? 0 : 1);
}

TEST_F(MappedFileProcess, whose_address_space_is_limited_reads) {
  EXPECT_EXIT(read_with_little_address_space(), ::testing::ExitedWithCode(0), "");
}

// Raises SIGBUS by reading a mapping that MappedFile does not guard.
void raise_bus_error() {
  const SampleFile file(Bytes(8192, 1));
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  const auto* const pages =
      static_cast<const volatile char*>(::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, descriptor, 0));
  file.cut(0);
  static_cast<void>(pages[5000]);
}

// Raises SIGBUS as above, after MappedFile has handled a fault of its own.
void raise_bus_error_beside_a_mapped_file() {
  const SampleFile file(Bytes(1'000'000, 1));
  const MappedFile mapped = file.mapped();
  file.cut(10);
  if (!mapped.is_mapped() || read(mapped, 500'000, 100).size() != 0) ::_exit(1);
  raise_bus_error();
}

void leave_with_7(int) { ::_exit(7); }
void leave_with_8(int, siginfo_t* info, void*) { ::_exit(info->si_code > 0 ? 8 : 9); }

TEST_F(MappedFileProcess, leaves_other_bus_errors_to_who_had_them) {
  const auto with_handler = [](void (*handler)(int)) {
    ::signal(SIGBUS, handler);
    raise_bus_error_beside_a_mapped_file();
  };
  EXPECT_EXIT(with_handler(leave_with_7), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(with_handler(SIG_DFL), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(with_handler(SIG_IGN), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedFileProcess, tells_the_former_handler_what_it_was_told) {
  const auto with_handler = [](void (*raise)()) {
    struct sigaction action {};
    action.sa_sigaction = leave_with_8;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
    raise();
  };
  EXPECT_EXIT(with_handler(raise_bus_error_beside_a_mapped_file), ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(with_handler([] {
                SampleFile(Bytes(10, 1)).mapped();
                ::raise(SIGBUS);
              }),
              ::testing::ExitedWithCode(9), "");
}

TEST_F(MappedFileProcess, takes_a_signal_that_was_sent_as_before) {
  const auto with_handler = [](void (*handler)(int)) {
    ::signal(SIGBUS, handler);
    const SampleFile file(Bytes(10, 1));
    const MappedFile mapped = file.mapped();
    ::raise(SIGBUS);
    ::_exit(mapped.is_mapped() ? 0 : 1);
  };
  EXPECT_EXIT(with_handler(SIG_IGN), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(with_handler(SIG_DFL), ::testing::KilledBySignal(SIGBUS), "");
}

// Another handler replaces that of MappedFile, as a library does that is initialised after the data were opened.
void read_without_the_handler() {
  const SampleFile file(patterned(1'000'000));
  const MappedFile mapped = file.mapped();
  const FileSource plain(file.path());
  if (!mapped.is_mapped()) ::_exit(1);
  ::signal(SIGBUS, leave_with_7);
  for (int i = 0; i < 100; ++i) {
    if (read(mapped, 1000, 100) != read(plain, 1000, 100)) ::_exit(2);
  }
  if (mapped.is_mapped() || file.mapped().is_mapped()) ::_exit(3);
  file.cut(10);
  if (read(mapped, 500'000, 100).size() != 0) ::_exit(4);
  raise_bus_error();
}

TEST_F(MappedFileProcess, reads_when_another_took_the_signal) {
  EXPECT_EXIT(read_without_the_handler(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace eave
