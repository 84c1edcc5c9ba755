// Writes the last calls of a rank to a file, for people who look for the reason why a run ended.
#pragma once

#include <string>

#include "transport/core/call_record.h"

namespace eave {

// {"rank", "host", "reason", "calls": [{"sequence", "meeting", "operation", "bytes", "root", "ranks", "start", "end"}]}
// Times are in seconds since the first call that is kept. "end" is null if the call has not ended; "meeting" and "root"
// are null if the call has none.
std::string calls_as_json(const CallRecord& calls, int rank, const std::string& host, const std::string& reason);

// Writes calls-rank-R.json into `directory`. Does not flush it to disk, because that may block. Returns whether it
// succeeded.
bool write_calls(const std::string& directory, int rank, const std::string& json) noexcept;

}  // namespace eave
