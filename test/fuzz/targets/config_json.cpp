// config.json of a run, and comparison.json of a comparison.
#include "report/record/config.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  take_or_refuse([&] {
    const auto config = read_config(file_of(bytes));
    setting_in(config, "tau");
  });
}
