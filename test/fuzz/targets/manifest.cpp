// The manifest.json of a checkpoint. If the first byte is even, the target appends the hash that the file must end
// with.
#include "checkpoint/checkpoint_manifest.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  std::string text = eave::text_of({bytes + 1, size - 1});
  if (bytes[0] % 2 == 0) text += eave::hash_of(text).text() + "\"\n}\n";
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    const eave::Manifest manifest = eave::parse_manifest(text);
    if (manifest.files.empty() || manifest.step < 1) std::abort();
    for (const eave::StoredFile& file : manifest.files) {
      if (!eave::is_plain_name(file.name)) std::abort();
    }
    for (const char* note : {eave::kWorkers, eave::kStatistics}) {
      const int count = eave::count_in(manifest, note);
      if (count < 1 || count > static_cast<int>(manifest.files.size())) std::abort();
    }
    eave::parse_manifest(eave::encode_manifest(manifest));
  });
  return 0;
}
