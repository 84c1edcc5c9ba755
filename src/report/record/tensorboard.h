// Writes a run's records as TensorBoard's event files, beside metrics.jsonl in the run directory, without TensorFlow's
// library. Only rank 0 writes.
//
// A file is a sequence of records, with these parts: length of the event (8 bytes), masked CRC32C of the length (4),
// the event, masked CRC32C of the event (4). Numbers are little-endian. The mask of a checksum c is (c >> 15 | c << 17)
// + 0xa282ead8:
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/record_writer.h
// An event is a protocol buffer, message Event of tensorflow/core/util/event.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eave/recorder.h"
#include "report/record/log_file.h"

namespace eave {

// The prefix of every event file's name, and the part that only the names of eave's event files contain.
inline constexpr std::string_view kEventFile = "events.out.tfevents.", kEventFileOfEave = ".eave";

std::uint32_t crc32c(std::string_view bytes);

// The record that holds `event`.
std::string event_record(std::string_view event);

struct Scalar {
  std::string tag;
  double value = 0;  // written as float, also if it is NaN or infinite: TensorBoard shows those
};

class EventFile {
 public:
  // Creates `directory`/events.out.tfevents.<time>.<host>.<process>.eave[.<number>]. The name is unique, so a resumed
  // run adds a file. TensorBoard reads the files in the order of their names.
  // Throws Error(kCannotCreate). `warn` is as in LogFile.
  explicit EventFile(const OutputFolder& directory, Warn warn = {});

  // Appends one event. If the event cannot be written, it is counted as lost.
  void write(std::int64_t step, const std::vector<Scalar>& scalars);

  std::int64_t lost() const { return file_.lost(); }  // events
  std::filesystem::path path() const { return file_.path(); }

 private:
  void append(const std::string& event);
  LogFile file_;
};

// Tags of steps: loss, learning_rate, samples_per_second (all ranks), bytes (sent by rank 0 since the start or the
// resume), time/computing, time/exchanging, time/waiting, time/loading (shares of rank 0's seconds), and gradient_norm
// with --clip-norm.
// Tags of evaluations: test/accuracy/ and test/loss/ of center, mean, best_worker, and of ema with --ema-decay;
// consensus_distance; and, if samples are held out, validation/accuracy, validation/loss.
// If samples are text, perplexity replaces accuracy, tokens_per_second replaces samples_per_second, and
// test/bits_per_byte is there.
class TensorBoard {
 public:
  explicit TensorBoard(const OutputFolder& directory, Warn warn = {}) : file_(directory, std::move(warn)) {}
  std::int64_t lost() const { return file_.lost(); }  // events

  // Writes tokens_per_second in place of samples_per_second. `tokens` is the number of a sample's tokens.
  void count_tokens(std::int64_t tokens) { tokens_per_sample_ = tokens; }

  // Takes rank 0's records in the order of its steps. The first record becomes an event of its own, without speed and
  // shares, because the start of a resumed run is not known. After it, each event is the mean over a second of
  // training, or over one record that took longer.
  void write(const std::vector<StepRecord>& records);
  void write(const EvaluationRecord& record);
  void finish();  // writes the rest that does not fill a second

 private:
  void add(const StepRecord& record);
  EventFile file_;
  StepRecord begin_;  // seconds and samples at which the current event begins
  StepRecord sum_;    // sums over its records, and the values of the last one
  bool has_begun_ = false;
  double losses_ = 0;  // number of records with a loss
  std::int64_t bytes_ = 0;
  std::int64_t tokens_per_sample_ = 0;  // 0: samples are not text
};

}  // namespace eave
