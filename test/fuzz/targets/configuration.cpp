// A configuration file, with options of every type.
#include "app/options/option_sources.h"
#include "test/fuzz/fuzz.h"

namespace {

eave::OptionValues options() {
  using eave::OptionType;
  eave::OptionValues values;
  values.declare({"lr", OptionType::kReal, "0.1", ""});
  values.declare({"batch", OptionType::kInteger, "32", ""});
  values.declare({"data-dir", OptionType::kText, "", ""});
  values.declare({"communicator", OptionType::kText, "easgd", "", {"easgd", "allreduce"}});
  values.declare({"flip", OptionType::kFlag, "off", ""});
  values.declare({"bucket-bytes", OptionType::kBytes, "1MiB", ""});
  values.declare({"shape-delay", OptionType::kSeconds, "", ""});
  values.declare({"shape-rate", OptionType::kRate, "", ""});
  values.declare({"config", OptionType::kText, "", ""});
  return values;
}

}  // namespace

void eave::fuzz(Bytes bytes) {
  static const OptionValues declared = options();
  OptionValues values = declared;
  take_or_refuse({ExitCode::kUsage, ExitCode::kBadData}, [&] { assign(values, from_file(file_of(bytes), values)); });
  const auto read = [](const std::function<void()>& get) { take_or_refuse({ExitCode::kUsage}, get); };
  read([&] { values.real("lr"); });
  read([&] { values.integer("batch", 1, 1 << 20); });
  read([&] { values.flag("flip"); });
  read([&] { values.bytes("bucket-bytes"); });
  if (values.has("shape-delay")) read([&] { values.seconds("shape-delay"); });
  if (values.has("shape-rate")) read([&] { values.bytes_per_second("shape-rate"); });
}
