// Event files of TensorBoard, written without TensorFlow's library.
//
// A file is a sequence of records: length (8 bytes), masked CRC32C of those (4), the event (length bytes), masked
// CRC32C of it (4); numbers little-endian; the mask is (c >> 15 | c << 17) + 0xa282ead8.
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/record_writer.h
// An event is a protocol buffer, message Event of tensorflow/core/util/event.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/log_file.h"

namespace eave {

// How the name of an event file begins, and what is in the names of those written here.
inline constexpr std::string_view kEventFile = "events.out.tfevents.", kEventFileOfEave = ".eave";

std::uint32_t crc32c(std::string_view bytes);

// The record that holds `event`.
std::string event_record(std::string_view event);

struct Scalar {
  std::string tag;
  double value = 0;  // written as float; one that is not finite too, as TensorBoard shows those
};

class EventFile {
 public:
  // Creates `directory`/events.out.tfevents.<time>.<host>.<process>.eave[.<number>], which is no other's: a run that is
  // resumed has one more, and TensorBoard reads them in the order of their names. Throws Error(kCannotCreate).
  // As LogFile.
  explicit EventFile(const OutputFolder& directory, Warn warn = {});

  // Appends one event, or loses it where that cannot be.
  void write(std::int64_t step, const std::vector<Scalar>& scalars);

  std::int64_t lost() const { return file_.lost(); }  // events
  std::filesystem::path path() const { return file_.path(); }

 private:
  void append(const std::string& event);
  LogFile file_;
};

}  // namespace eave
