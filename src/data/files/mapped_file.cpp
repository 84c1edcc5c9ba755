#include "data/files/mapped_file.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <utility>

#include "data/files/guarded_copy.h"

namespace eave {
namespace {

// Copies from one check of the SIGBUS handler to the next: a check is a system call.
constexpr std::uint64_t kCopiesPerLook = 64;

// If address space is limited (ulimit -v), leave it to code that cannot do without it.
bool is_address_space_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

class MappedFile::Mapping {
 public:
  static std::unique_ptr<Mapping> make(const FileSource& file) {
    if (file.size() == 0 || file.size() > kLargest || is_address_space_limited() || !guards_copies()) return nullptr;
    const auto size = static_cast<std::size_t>(file.size());
    void* const pages = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (pages == MAP_FAILED) return nullptr;
    return std::make_unique<Mapping>(std::span(static_cast<std::uint8_t*>(pages), size));
  }
  explicit Mapping(std::span<std::uint8_t> pages) : pages_(pages) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(pages_.data(), pages_.size()); }

  bool is_usable() const { return is_usable_.load(std::memory_order_relaxed); }

  // Returns false if the caller must read these bytes from the file.
  bool copy(std::size_t offset, std::span<std::uint8_t> bytes) {
    if (copies_.fetch_add(1, std::memory_order_relaxed) % kCopiesPerLook == 0 && !guards_copies())
      is_usable_.store(false, std::memory_order_relaxed);
    return is_usable() && copy_guarded(pages_, offset, bytes);
  }

 private:
  const std::span<std::uint8_t> pages_;
  std::atomic<std::uint64_t> copies_{0};
  std::atomic<bool> is_usable_{true};
};

MappedFile::MappedFile(FileSource file) : file_(std::move(file)), mapping_(Mapping::make(file_)) {}
MappedFile::~MappedFile() = default;
MappedFile::MappedFile(MappedFile&& other) noexcept = default;

bool MappedFile::is_mapped() const { return mapping_ && mapping_->is_usable(); }

std::size_t MappedFile::read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  const bool is_within = bytes.size() <= size() && offset <= size() - bytes.size();
  if (mapping_ && is_within && !bytes.empty() && mapping_->copy(static_cast<std::size_t>(offset), bytes))
    return bytes.size();
  return file_.read_at(offset, bytes);
}

}  // namespace eave
