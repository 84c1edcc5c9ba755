#include "data/files/mapped_file.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace eave {
namespace {

// Copies from one check of the SIGBUS handler to the next: a check is a system call.
constexpr std::uint64_t kCopiesPerLook = 64;

// If address space is limited (ulimit -v), leave it to code that cannot do without it.
bool is_address_space_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

// Guarded copies survive pages that cannot be read. Such a page, because the file was cut or the disk fails, raises
// SIGBUS, which would end the process.
struct Guard {
  sigjmp_buf leave;
  const std::uint8_t *begin, *end;  // the guarded mapping
};

// The guard of the copy that this thread is making, or nullptr. The handler must not be the first to touch thread-local
// memory. The initial-exec model allocates it when the thread starts, also in a library opened at run time.
[[gnu::tls_model("initial-exec")]] constinit thread_local Guard* thread_guard = nullptr;

struct sigaction former_bus_action {};

// Handles the signal as if this handler did not exist.
void pass_on(int signal, siginfo_t* info, void* context) {
  // A process has sent the signal. A signal raised by a fault cannot be ignored.
  const bool is_sent = info->si_code <= 0;
  if (former_bus_action.sa_handler == SIG_IGN && is_sent) return;
  if (former_bus_action.sa_handler == SIG_IGN || former_bus_action.sa_handler == SIG_DFL) {
    ::signal(signal, SIG_DFL);  // a fault is raised again on return
    if (is_sent) ::raise(signal);
  } else if ((former_bus_action.sa_flags & SA_SIGINFO) != 0) {
    former_bus_action.sa_sigaction(signal, info, context);
  } else {
    former_bus_action.sa_handler(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  Guard* const guard = thread_guard;
  const auto* const address = static_cast<const std::uint8_t*>(info->si_addr);
  if (guard == nullptr || info->si_code <= 0 || address < guard->begin || address >= guard->end)
    return pass_on(signal, info, context);
  thread_guard = nullptr;
  // The signal is blocked in this handler, and perhaps by the caller. siglongjmp would leave it blocked, and the next
  // SIGBUS would end the process.
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
  siglongjmp(guard->leave, 1);
}

void take_bus_errors() {
  if (::sigaction(SIGBUS, nullptr, &former_bus_action) != 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | (former_bus_action.sa_flags & SA_ONSTACK);
  action.sa_mask = former_bus_action.sa_mask;
  ::sigaction(SIGBUS, &action, nullptr);
}

bool is_zero(const std::uint8_t* begin, const std::uint8_t* end) {
  while (end != begin && end[-1] == 0) --end;
  return end == begin;
}

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// Whether this file's handler receives SIGBUS. The first call installs the handler. The handler passes any SIGBUS that
// is not from a guarded copy on to the handler before it. If other code has since installed a handler of its own, this
// returns false and leaves that handler alone.
bool guards_copies() {
  static std::once_flag once;
  std::call_once(once, take_bus_errors);
  struct sigaction action {};
  return ::sigaction(SIGBUS, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0 &&
         action.sa_sigaction == on_bus_error;
}

// Copies to.size() bytes from index `first` of `mapping`, which maps a whole file. Call only while guards_copies() is
// true. Several threads may call it at once.
//
// Returns false if a page cannot be read; `to` is then partly written. Also returns false if the file may have been cut
// within the last page copied. The rest of such a page reads as zeros and raises nothing. So zeros from the last copied
// byte to the end of its page count as a cut.
bool copy_guarded(std::span<const std::uint8_t> mapping, std::size_t first, std::span<std::uint8_t> to) {
  const std::size_t last = first + to.size() - 1, page_end = std::min((last / kPage + 1) * kPage, mapping.size());
  Guard guard;
  guard.begin = mapping.data();
  guard.end = mapping.data() + mapping.size();
  if (sigsetjmp(guard.leave, 0) != 0) return false;
  thread_guard = &guard;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the compiler from moving the copy past it
  std::memcpy(to.data(), mapping.data() + first, to.size());
  const bool may_be_cut = is_zero(mapping.data() + last, mapping.data() + page_end);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_guard = nullptr;
  return !may_be_cut;
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
