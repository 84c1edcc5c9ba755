// An IDX file, plain or gzip'd, as images and as labels.
#include "data/files/idx.h"

#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const eave::IdxContent content : {eave::IdxContent::kImages, eave::IdxContent::kLabels}) {
    eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
      eave::read_idx(eave::MemorySource({bytes, size}, "fuzzed"), content);
    });
  }
  return 0;
}
