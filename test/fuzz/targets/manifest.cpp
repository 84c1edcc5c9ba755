// The manifest.json of a checkpoint. If the first byte is even, the target appends the hash that the file must end
// with.
#include "checkpoint/checkpoint_manifest.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  std::string text = text_of(bytes.subspan(1));
  if (bytes[0] % 2 == 0) text += hash_of(text).text() + "\"\n}\n";
  take_or_refuse([&] {
    const Manifest manifest = parse_manifest(text);
    if (manifest.files.empty() || manifest.step < 1) std::abort();
    for (const StoredFile& file : manifest.files) {
      if (!is_plain_name(file.name)) std::abort();
    }
    for (const char* note : {kWorkers, kStatistics}) {
      const int count = count_in(manifest, note);
      if (count < 1 || count > static_cast<int>(manifest.files.size())) std::abort();
    }
    parse_manifest(encode_manifest(manifest));
  });
}
