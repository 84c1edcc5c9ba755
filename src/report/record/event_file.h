// Writes TensorBoard's event files without TensorFlow's library.
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
#include <vector>

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

}  // namespace eave
