// An IDX file, plain or gzip'd, as images and as labels.
#include "data/files/idx.h"

#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  for (const IdxContent content : {IdxContent::kImages, IdxContent::kLabels}) {
    take_or_refuse([&] { read_idx(MemorySource(bytes, "fuzzed"), content); });
  }
}
