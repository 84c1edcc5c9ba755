#include "report/record/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "base/host.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr std::array<std::uint32_t, 256> kCrcOfByte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = value;
  }
  return table;
}();

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string masked_crc(std::string_view bytes) { return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8U, 4); }

// The functions below encode protocol buffers: a field is its number and kind, then its value.
std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

enum Kind : std::uint64_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };
std::string key(std::uint64_t field, Kind kind) { return varint(field << 3 | kind); }
std::string of_bytes(std::uint64_t field, const std::string& bytes) {
  return key(field, kBytes) + varint(bytes.size()) + bytes;
}
std::string of_double(std::uint64_t field, double value) {
  return key(field, kEightBytes) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string of_float(std::uint64_t field, double value) {
  return key(field, kFourBytes) + little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Encodes a Summary.Value: tag, simple_value.
std::string summary_value(const Scalar& scalar) {
  return of_bytes(1, of_bytes(1, scalar.tag) + of_float(2, scalar.value));
}

// Creates a file under a new name. The caller reports the error if it cannot be created.
OutputPath make_file(const OutputFolder& directory) {
  const std::string name = std::string(kEventFile) + format("%010lld.", static_cast<long long>(wall_time())) +
                           host_name() + "." + std::to_string(::getpid()) + std::string(kEventFileOfEave);
  OutputPath path = directory / name;
  for (int number = 1; !open_output(path, O_WRONLY | O_CREAT | O_EXCL).is_open() && errno == EEXIST; ++number)
    path = directory / (name + "." + std::to_string(number));
  return path;
}

constexpr double kEventSeconds = 1;

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t value = ~0U;
  for (const char byte : bytes) value = (value >> 8) ^ kCrcOfByte[(value ^ static_cast<unsigned char>(byte)) & 255];
  return ~value;
}

std::string event_record(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  return length + masked_crc(length) + std::string(event) + masked_crc(event);
}

EventFile::EventFile(const OutputFolder& directory, Warn warn) : file_(make_file(directory), std::move(warn)) {
  append(of_double(1, wall_time()) + of_bytes(3, "brain.Event:2"));  // wall_time, file_version
}

void EventFile::write(std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) summary += summary_value(scalar);
  append(of_double(1, wall_time()) + key(2, kVarint) + varint(static_cast<std::uint64_t>(step)) + of_bytes(5, summary));
}

void EventFile::append(const std::string& event) { file_.add(event_record(event)); }

void TensorBoard::write(const std::vector<StepRecord>& records) {
  for (const StepRecord& record : records) {
    add(record);
    if (!has_begun_ || sum_.seconds - begin_.seconds >= kEventSeconds) finish();
  }
}

void TensorBoard::add(const StepRecord& record) {
  StepRecord sum = record;
  sum.computing += sum_.computing;
  sum.exchanging += sum_.exchanging;
  sum.waiting += sum_.waiting;
  sum.loading += sum_.loading;
  sum.loss = sum_.loss;
  if (std::isfinite(record.loss)) {
    sum.loss += record.loss;
    ++losses_;
  }
  sum_ = sum;
  bytes_ += record.bytes;
}

void TensorBoard::finish() {
  if (sum_.step == begin_.step) return;
  const double seconds = std::max(sum_.seconds - begin_.seconds, 1e-9);
  std::vector<Scalar> scalars = {{"learning_rate", sum_.learning_rate}, {"bytes", static_cast<double>(bytes_)}};
  if (losses_ > 0) scalars.push_back({"loss", sum_.loss / losses_});
  if (sum_.gradient_norm) scalars.push_back({"gradient_norm", *sum_.gradient_norm});
  if (has_begun_) {
    const double rate = static_cast<double>(sum_.samples - begin_.samples) / seconds;
    scalars.push_back(tokens_per_sample_ > 0
                          ? Scalar{"tokens_per_second", rate * static_cast<double>(tokens_per_sample_)}
                          : Scalar{"samples_per_second", rate});
    scalars.push_back({"time/computing", sum_.computing / seconds});
    scalars.push_back({"time/exchanging", sum_.exchanging / seconds});
    scalars.push_back({"time/waiting", sum_.waiting / seconds});
    scalars.push_back({"time/loading", sum_.loading / seconds});
  }
  file_.write(sum_.step, scalars);
  begin_ = sum_;
  has_begun_ = true;
  sum_.computing = sum_.exchanging = sum_.waiting = sum_.loading = sum_.loss = losses_ = 0;
}

void TensorBoard::write(const EvaluationRecord& record) {
  const std::string test = "test/" + record.metric.name;
  std::vector<Scalar> scalars = {{test + "/center", record.center.accuracy},
                                 {"test/loss/center", record.center.loss},
                                 {"consensus_distance", record.distance_mean}};
  if (record.workers) {
    scalars.push_back({test + "/mean", record.workers->mean.accuracy});
    scalars.push_back({test + "/best_worker", record.workers->best.accuracy});
    scalars.push_back({"test/loss/mean", record.workers->mean.loss});
    scalars.push_back({"test/loss/best_worker", record.workers->best.loss});
  }
  if (record.validation) {
    scalars.push_back({"validation/" + record.metric.name, record.validation->accuracy});
    scalars.push_back({"validation/loss", record.validation->loss});
  }
  if (record.ema) {
    scalars.push_back({test + "/ema", record.ema->accuracy});
    scalars.push_back({"test/loss/ema", record.ema->loss});
  }
  if (record.bits_per_byte) scalars.push_back({"test/bits_per_byte", *record.bits_per_byte});
  file_.write(record.step, scalars);
}

}  // namespace eave
