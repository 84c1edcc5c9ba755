#include "test/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "report/page/page.h"

namespace eave {
namespace {

// A zlib stream, initialised once for each kind. Initialisation takes longer than packing a fuzzer's input.
struct Packer {
  explicit Packer(int window_bits) {
    if (deflateInit2(&stream, 1, Z_DEFLATED, window_bits, 1, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  }
  ~Packer() { deflateEnd(&stream); }
  z_stream stream{};
};

}  // namespace

// Replaces the template of the real page, which is long and always the same.
std::string_view page_template() { return "<script>/*EAVE_DATA*/null</script>"; }

void take_or_refuse(std::initializer_list<ExitCode> codes, const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (std::ranges::count(codes, error.code()) != 0 && !what.empty()) return;
    std::fprintf(stderr, "refused with %d: %s\n", static_cast<int>(error.code()), what.c_str());
    std::abort();
  }
}

std::vector<std::uint8_t> packed(Bytes bytes, bool is_gzip) {
  static Packer zlib(MAX_WBITS), gzip(MAX_WBITS + 16);
  z_stream& stream = is_gzip ? gzip.stream : zlib.stream;
  if (deflateReset(&stream) != Z_OK) std::abort();
  std::vector<std::uint8_t> content(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<std::uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = content.data();
  stream.avail_out = static_cast<uInt>(content.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  content.resize(stream.total_out);
  return content;
}

std::string file_of(Bytes bytes) {
  static const int file = ::memfd_create("fuzzed", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes.size())) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::perror("a file in memory");
    std::abort();
  }
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace eave

// The function that libFuzzer and replay.cpp call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  eave::fuzz({bytes, size});
  return 0;
}
