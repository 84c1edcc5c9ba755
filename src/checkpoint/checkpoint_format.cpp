#include "checkpoint/checkpoint_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::string_view kMagic = "EAVESTAT";
constexpr std::uint32_t kVersion = 2, kByteOrder = 0x01020304;
constexpr std::uint64_t kPreludeBytes = 32, kHeaderLimitBytes = std::uint64_t{1} << 20, kHashBytes = 16;
constexpr std::uint64_t kAlignment = 64;
constexpr std::size_t kNameLimit = 64;

[[noreturn]] void refuse_file(const std::string& why) { throw Error(ExitCode::kBadData, why); }

class Encoder {
 public:
  template <class Number>
  void number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void hash(const Hash128& hash) {
    number(hash.low);
    number(hash.high);
  }
  void name(const std::string& name) {
    EAVE_CHECK(name.empty() || is_plain_name(name), name + " may stand in a checkpoint");
    number(static_cast<std::uint32_t>(name.size()));
    bytes_ += name;
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) refuse_file("its header ends too early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  Hash128 hash() {
    Hash128 hash;
    hash.low = number<std::uint64_t>();
    hash.high = number<std::uint64_t>();
    return hash;
  }
  std::string name(bool may_be_empty) {
    const auto size = number<std::uint32_t>();
    if (size > kNameLimit) refuse_file("it has a name of " + count_text(size, "letter"));
    const std::string_view name = take(size);
    if (!(name.empty() && may_be_empty) && !is_plain_name(name))
      refuse_file("a vector's name has characters that eave never writes");
    return std::string(name);
  }
  std::int64_t count() {
    const auto count = number<std::int64_t>();
    if (count < 0) refuse_file("it has a count below 0");
    return count;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

template <class Coder, class Progress>
void each_number(Coder code, Progress& progress) {
  code(progress.steps), code(progress.samples), code(progress.seconds), code(progress.waiting), code(progress.bytes);
  code(progress.nonfinite), code(progress.nonfinite_in_a_row), code(progress.repaired);
  auto& rest = progress.unrecorded;
  code(rest.loss_sum), code(rest.samples), code(rest.seconds), code(rest.loading), code(rest.waiting);
  code(rest.exchanging), code(rest.bytes), code(rest.nonfinite);
}

void check_prelude(Decoder& decoder, std::uint64_t header_bytes, std::uint64_t file_bytes) {
  if (decoder.take(kMagic.size()) != kMagic)
    refuse_file("it does not begin with EAVESTAT, so it is no file of a checkpoint");
  const auto version = decoder.number<std::uint32_t>(), order = decoder.number<std::uint32_t>();
  if (order != kByteOrder) refuse_file("it was written by a machine with another order of bytes");
  if (version != kVersion) {
    refuse_file("its format is version " + std::to_string(version) + ", and this eave reads " +
                std::to_string(kVersion));
  }
  if (decoder.number<std::uint64_t>() != header_bytes) refuse_file("its header is not as long as it says");
  const auto says = decoder.number<std::uint64_t>();
  if (says != file_bytes) {
    refuse_file("it has " + count_text(file_bytes, "byte") + ", and says that it has " + std::to_string(says));
  }
}

void read_vectors(Decoder& decoder, CheckpointHeader& header, std::uint64_t body_bytes) {
  std::uint64_t left = body_bytes;
  const auto count = decoder.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {  // a false count ends soon: each vector takes bytes of the short header
    CheckpointVector vector;
    vector.name = decoder.name(false);
    vector.size = decoder.number<std::uint64_t>();
    vector.hash = decoder.hash();
    if (vector.size > left / sizeof(float)) refuse_file("'" + vector.name + "' is longer than the file");
    left -= vector.size * sizeof(float);
    header.vectors.push_back(std::move(vector));
  }
  if (left != 0) refuse_file("it is longer than its vectors");
}

std::string_view bytes_of(ConstSlice values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::uint64_t header_length(const std::string& prelude) {
  Decoder decoder(prelude);
  decoder.take(kMagic.size() + 2 * sizeof(std::uint32_t));
  return decoder.number<std::uint64_t>();
}

// Whether the vector is part of the model. A model that is not finite must be neither resumed nor published. Optimizer
// state such as momentum may hold any value.
bool is_of_model(const CheckpointVector& vector, const CheckpointHeader& header) {
  return vector.name == "parameters" || vector.name == "statistics" || vector.name == "consensus" ||
         vector.name == header.consensus;
}

// Sets `index` to the index of the first value that is not finite, unless an earlier part had one. `first` is the index
// of the beginning of `part`.
void find_not_finite(ConstSlice part, std::uint64_t first, std::optional<std::uint64_t>& index) {
  if (index) return;
  const auto found = std::ranges::find_if(part, [](float value) { return !std::isfinite(value); });
  if (found != part.end()) index = first + static_cast<std::uint64_t>(found - part.begin());
}

[[noreturn]] void refuse_not_finite(const CheckpointVector& vector, const CheckpointHeader& header,
                                    std::uint64_t index) {
  refuse_file("its '" + vector.name + "'" + (vector.name == header.consensus ? ", the consensus," : "") +
              " is not finite: the first such value is at index " + std::to_string(index));
}

// Reads the values. Adds them to `whole`, and checks the hash of each vector.
void read_body(ByteStream& file, const CheckpointHeader& header, Hasher& whole, std::vector<float>* body) {
  std::vector<float> chunk;
  std::size_t place = 0;
  for (const CheckpointVector& vector : header.vectors) {
    Hasher own;
    std::optional<std::uint64_t> not_finite;
    for (std::uint64_t left = vector.size; left > 0;) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, std::size_t{1} << 18));
      if (body == nullptr) chunk.resize(count);
      const Slice part = body != nullptr ? Slice(*body).subspan(place, count) : Slice(chunk);
      file.read(reinterpret_cast<char*>(part.data()), part.size_bytes());
      own.add(bytes_of(part));
      whole.add(bytes_of(part));
      if (body == nullptr && is_of_model(vector, header)) find_not_finite(part, vector.size - left, not_finite);
      left -= count;
      place += count;
    }
    if (own.hash() != vector.hash) refuse_file("its '" + vector.name + "' is not what was written");
    if (not_finite) refuse_not_finite(vector, header, *not_finite);
  }
}

CheckpointHeader read_all(ByteStream& file, const StoredFile& expected, std::vector<float>* body) {
  if (file.size() != expected.bytes) {
    refuse_file("it has " + count_text(file.size(), "byte") + ", and was written with " +
                std::to_string(expected.bytes));
  }
  if (file.size() < kPreludeBytes + kHashBytes) refuse_file("it is cut off within its header");
  std::string bytes(kPreludeBytes, '\0');
  file.read(bytes.data(), bytes.size());
  const std::uint64_t length = header_length(bytes);
  if (length > kHeaderLimitBytes || length < kPreludeBytes || length > file.size() - kHashBytes) {
    refuse_file("it says that its header has " + count_text(length, "byte"));
  }
  bytes.resize(length);
  file.read(bytes.data() + kPreludeBytes, bytes.size() - kPreludeBytes);
  const CheckpointHeader header = parse_checkpoint_header(bytes, file.size());
  if (body != nullptr) body->resize((file.size() - length - kHashBytes) / sizeof(float));
  Hasher whole;
  whole.add(bytes);
  read_body(file, header, whole, body);
  Encoder trailer;
  trailer.hash(whole.hash());
  std::string stored(kHashBytes, '\0');
  file.read(stored.data(), stored.size());
  if (stored != trailer.bytes() || whole.hash() != expected.hash)
    refuse_file("it is not what was written: its hash differs");
  return header;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

std::string encode_checkpoint_header(const CheckpointHeader& header) {
  std::uint64_t body_bytes = 0;
  Encoder rest;
  rest.number(static_cast<std::uint32_t>(header.rank));
  rest.number(static_cast<std::uint32_t>(header.ranks));
  rest.hash(header.configuration);
  each_number([&](const auto& number) { rest.number(number); }, header.progress);
  rest.number(header.updates);
  rest.name(header.consensus);
  rest.number(static_cast<std::uint32_t>(header.vectors.size()));
  for (const CheckpointVector& vector : header.vectors) {
    rest.name(vector.name);
    rest.number(vector.size);
    rest.hash(vector.hash);
    body_bytes += vector.size * sizeof(float);
  }
  const std::uint64_t length = (kPreludeBytes + rest.bytes().size() + kAlignment - 1) / kAlignment * kAlignment;
  EAVE_CHECK(length <= kHeaderLimitBytes, "the header of a checkpoint has at most 1 MiB");
  Encoder whole;
  whole.bytes() = kMagic;
  whole.number(kVersion);
  whole.number(kByteOrder);
  whole.number(length);
  whole.number(length + body_bytes + kHashBytes);
  whole.bytes() += rest.bytes();
  whole.bytes().resize(length, '\0');
  return whole.bytes();
}

CheckpointHeader parse_checkpoint_header(std::string_view bytes, std::uint64_t file_bytes) {
  if (bytes.size() > kHeaderLimitBytes || file_bytes < bytes.size() + kHashBytes) refuse_file("its header is too long");
  Decoder decoder(bytes);
  check_prelude(decoder, bytes.size(), file_bytes);
  CheckpointHeader header;
  const auto rank = decoder.number<std::uint32_t>(), ranks = decoder.number<std::uint32_t>();
  if (rank >= ranks || ranks > std::numeric_limits<int>::max())
    refuse_file("its rank or its number of ranks is impossible");
  header.rank = static_cast<int>(rank);
  header.ranks = static_cast<int>(ranks);
  header.configuration = decoder.hash();
  each_number([&](auto& number) { number = decoder.number<std::remove_reference_t<decltype(number)>>(); },
              header.progress);
  const TrainingProgress& progress = header.progress;
  const bool has_counts = progress.nonfinite >= 0 && progress.nonfinite_in_a_row >= 0 && progress.repaired >= 0;
  constexpr double kMostSeconds = 1e12;  // the same bound as in metrics.jsonl
  const auto may_be_time = [](double seconds) { return seconds >= -1e-6 && seconds <= kMostSeconds; };
  const UnrecordedSteps& rest = progress.unrecorded;
  const bool has_times = std::ranges::all_of(
      std::to_array({progress.seconds, progress.waiting, rest.seconds, rest.loading, rest.waiting, rest.exchanging}),
      may_be_time);
  if (progress.steps < 1 || progress.samples < 0 || progress.bytes < 0 || !has_counts || !has_times) {
    refuse_file("its counts of steps, samples or times are impossible");
  }
  header.updates = decoder.count();
  header.consensus = decoder.name(true);
  read_vectors(decoder, header, file_bytes - bytes.size() - kHashBytes);
  if (decoder.rest().size() >= kAlignment || std::ranges::any_of(decoder.rest(), [](char c) { return c != '\0'; })) {
    refuse_file("there are bytes behind the end of its header");
  }
  return header;
}

StoredFile write_checkpoint_file(const OutputPath& path, CheckpointHeader header, const std::vector<ConstSlice>& values,
                                 FileCalls& calls) {
  EAVE_CHECK(values.size() == header.vectors.size(), "each vector has its values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EAVE_CHECK(values[i].size() == header.vectors[i].size, header.vectors[i].name + " has as many values as it says");
    header.vectors[i].hash = hash_of(bytes_of(values[i]));
  }
  OutputFile file(path, FileCalls::Existing::kRefuse, calls);
  Hasher hasher;
  std::uint64_t bytes = kHashBytes;
  const auto put = [&](std::string_view part) {
    hasher.add(part);
    file.write(part);
    bytes += part.size();
  };
  put(encode_checkpoint_header(header));
  for (const ConstSlice vector : values) put(bytes_of(vector));
  Encoder trailer;
  trailer.hash(hasher.hash());
  file.write(trailer.bytes());
  file.finish();
  return {path.name(), bytes, hasher.hash()};
}

CheckpointHeader read_checkpoint_file(const std::filesystem::path& directory, const StoredFile& expected,
                                      std::vector<float>* body, ByteStream* source) {
  const std::filesystem::path path = directory / expected.name;
  try {
    if (source != nullptr) return read_all(*source, expected, body);
    InputFile file(path);
    return read_all(file, expected, body);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kBadData) throw;
    throw Error(error.code(), path.string() + ": " + error.what());
  }
}

}  // namespace eave
