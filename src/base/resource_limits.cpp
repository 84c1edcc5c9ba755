#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/host.h"

namespace eave {
namespace {

// Version 1 writes "no limit" as a number beyond this.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

// A text of limited length that allocates nothing. Text that does not fit makes it invalid.
class FixedText {
 public:
  FixedText& add(std::string_view text) noexcept {
    if (text.size() >= letters_.size() - size_) is_valid_ = false;
    if (!is_valid_) return *this;
    std::memcpy(letters_.data() + size_, text.data(), text.size());
    size_ += text.size();
    letters_[size_] = 0;
    return *this;
  }
  void cut(std::size_t size) noexcept { letters_[size_ = size] = 0; }
  bool is_valid() const noexcept { return is_valid_; }
  std::string_view view() const noexcept { return {letters_.data(), size_}; }
  const char* c_str() const noexcept { return letters_.data(); }

 private:
  std::array<char, 4096> letters_{};
  std::size_t size_ = 0;
  bool is_valid_ = true;
};

FixedText join(std::string_view a, std::string_view b) noexcept { return FixedText().add(a).add(b); }

// Calls visit with each line of the file. Skips lines longer than a page.
template <class Visit>
void for_each_line(const FixedText& path, Visit&& visit) noexcept {
  const int file = path.is_valid() ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  std::array<char, 8192> text;
  std::size_t size = 0;
  for (bool is_whole = true;;) {
    const ssize_t read = ::read(file, text.data() + size, text.size() - size);
    if (read <= 0) break;
    size += static_cast<std::size_t>(read);
    std::size_t begin = 0;
    for (std::size_t end; (end = std::string_view(text.data(), size).find('\n', begin)) != std::string_view::npos;) {
      if (is_whole) visit(std::string_view(text.data() + begin, end - begin));
      is_whole = true;
      begin = end + 1;
    }
    if (begin == 0 && size == text.size()) {
      is_whole = false;
      begin = size;
    }
    std::memmove(text.data(), text.data() + begin, size - begin);
    size -= begin;
  }
  ::close(file);
}

// Returns the words of a line one after another.
class SplitText {
 public:
  explicit SplitText(std::string_view text, char between = ' ') noexcept : rest_(text), between_(between) {}
  std::string_view next() noexcept {
    const std::size_t end = std::min(rest_.find(between_), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
  char between_;
};

bool names(std::string_view list, std::string_view word) noexcept {
  for (SplitText words(list, ','); !words.rest().empty();) {
    if (words.next() == word) return true;
  }
  return false;
}

// The number at the start of a file. Returns -1 if the file is missing, says "max", or holds a number that means no
// limit.
std::int64_t read_limit(std::string_view directory, std::string_view name) noexcept {
  std::int64_t value = -1;
  for_each_line(join(directory, name),
                [&](std::string_view line) { std::from_chars(line.data(), line.data() + line.size(), value); });
  return value >= kUnlimited ? -1 : value;
}

// Returns `missing` if the file has no such field.
std::int64_t read_field(std::string_view directory, std::string_view name, std::string_view field,
                        std::int64_t missing = 0) noexcept {
  std::int64_t value = missing;
  for_each_line(join(directory, name), [&](std::string_view line) {
    if (SplitText words(line); words.next() == field) {
      const std::size_t blanks = std::min(words.rest().find_first_not_of(' '), words.rest().size());
      std::from_chars(words.rest().data() + blanks, line.data() + line.size(), value);
    }
  });
  return value;
}

template <class Number>
void take_smaller(Number& least, Number value) noexcept {
  if (value >= 0 && (least < 0 || value < least)) least = value;
}

void take_memory(GroupLimits& limits, std::int64_t limit, std::int64_t used, std::int64_t cached) noexcept {
  if (limit < 0) return;
  take_smaller(limits.memory_bytes, limit);
  const std::int64_t held = std::max<std::int64_t>(used - cached, 0);
  take_smaller(limits.memory_left_bytes, std::max<std::int64_t>(limit - held, 0));
}

void take_memory_of_version_1(GroupLimits& limits, std::string_view group) noexcept {
  take_memory(limits, read_limit(group, "/memory.limit_in_bytes"), read_limit(group, "/memory.usage_in_bytes"),
              read_field(group, "/memory.stat", "total_inactive_file"));
}

void take_cores_of_version_1(GroupLimits& limits, std::string_view group) noexcept {
  const std::int64_t quota = read_limit(group, "/cpu.cfs_quota_us"), period = read_limit(group, "/cpu.cfs_period_us");
  if (quota > 0 && period > 0) take_smaller(limits.cores, static_cast<double>(quota) / static_cast<double>(period));
}

void take_version_2(GroupLimits& limits, std::string_view group) noexcept {
  std::int64_t most = read_limit(group, "/memory.max");
  take_smaller(most, read_limit(group, "/memory.high"));
  take_memory(limits, most, read_limit(group, "/memory.current"), read_field(group, "/memory.stat", "inactive_file"));
  std::int64_t quota = -1, period = -1;
  for_each_line(join(group, "/cpu.max"), [&](std::string_view line) {
    SplitText words(line);
    const std::string_view first = words.next(), second = words.next();
    std::from_chars(first.data(), first.data() + first.size(), quota);
    std::from_chars(second.data(), second.data() + second.size(), period);
  });
  if (quota > 0 && period > 0) take_smaller(limits.cores, static_cast<double>(quota) / static_cast<double>(period));
}

// The group of this process in one hierarchy. The lines are like "4:memory:/job/step", or "0::/job" for version 2,
// which names no controller.
FixedText own_group(std::string_view root, std::string_view controller) noexcept {
  FixedText group;
  for_each_line(join(root, "/proc/self/cgroup"), [&](std::string_view line) {
    SplitText words(line, ':');
    words.next();
    const std::string_view controllers = words.next();
    if (controller.empty() ? controllers.empty() : names(controllers, controller))
      group = FixedText().add(words.rest());
  });
  return group;
}

// Undoes the escapes of mountinfo, which writes a blank as \040.
FixedText unescape(std::string_view text) noexcept {
  FixedText plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool is_code = text[i] == '\\' && i + 3 < text.size() &&
                         std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4;
    const char letter = is_code ? static_cast<char>(code) : text[i];
    plain.add({&letter, 1});
    if (is_code) i += 3;
  }
  return plain;
}

// One line of mountinfo, if it is a hierarchy of control groups:
// "35 31 0:32 /part /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
struct Hierarchy {
  explicit Hierarchy(std::string_view line) noexcept {
    SplitText words(line);
    for (int skipped = 0; skipped < 3; ++skipped) words.next();
    part = words.next();
    place = words.next();
    const std::size_t end = words.rest().find(" - ");
    if (end == std::string_view::npos) return;
    SplitText of_type(words.rest().substr(end + 3));
    type = of_type.next();
    of_type.next();
    options = of_type.rest();
  }
  std::string_view part, place, type, options;
};

// Calls visit with the directory of the process's group, then with each group above it that is visible there. A mount
// shows the groups below `part`. If the process's group lies elsewhere, only the top of the mount is visited.
template <class Visit>
void for_each_group(std::string_view root, const Hierarchy& hierarchy, std::string_view controller,
                    Visit&& visit) noexcept {
  FixedText directory = join(root, unescape(hierarchy.place).view());
  const std::size_t top = directory.view().size();
  const FixedText group = own_group(root, controller), part = unescape(hierarchy.part);
  std::string_view below = group.view();
  const bool is_whole = part.view() == "/";
  if (!is_whole && below.starts_with(part.view()))
    below.remove_prefix(part.view().size());
  else if (!is_whole)
    below = "";
  if (below != "/" && below.starts_with('/') && below.find("/..") == std::string_view::npos) directory.add(below);
  if (!directory.is_valid()) return;
  for (;;) {
    visit(directory.view());
    if (directory.view().size() <= top) return;
    directory.cut(std::max(directory.view().rfind('/'), top));
  }
}

constexpr std::int64_t kNotKnown = -1;

std::int64_t free_of_machine() noexcept {
  const std::int64_t available = read_field("", "/proc/meminfo", "MemAvailable:", kNotKnown);
  return available < 0 ? kNotKnown : 1024 * (available + read_field("", "/proc/meminfo", "SwapFree:"));
}

}  // namespace

GroupLimits control_group_limits(const char* root) noexcept {
  GroupLimits limits;
  for_each_line(join(root, "/proc/self/mountinfo"), [&](std::string_view line) {
    const Hierarchy hierarchy(line);
    if (hierarchy.type == "cgroup2") {
      for_each_group(root, hierarchy, "", [&](std::string_view group) { take_version_2(limits, group); });
      return;
    }
    if (hierarchy.type != "cgroup") return;
    if (names(hierarchy.options, "memory")) {
      for_each_group(root, hierarchy, "memory",
                     [&](std::string_view group) { take_memory_of_version_1(limits, group); });
    }
    if (names(hierarchy.options, "cpu")) {
      for_each_group(root, hierarchy, "cpu", [&](std::string_view group) { take_cores_of_version_1(limits, group); });
    }
  });
  return limits;
}

std::int64_t own_address_space_left_bytes() noexcept {
  rlimit limit{};
  const std::int64_t pages = read_limit("", "/proc/self/statm");
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || pages < 0) return kNotKnown;
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE), 0);
}

std::int64_t shared_memory_left_bytes() noexcept {
  std::int64_t least = free_of_machine();
  take_smaller(least, control_group_limits().memory_left_bytes);
  return least;
}

std::int64_t available_memory_bytes() noexcept {
  std::int64_t least = shared_memory_left_bytes();
  take_smaller(least, own_address_space_left_bytes());
  return least;
}

}  // namespace eave
