// The last calls of a rank, for who wants to know why a run ended.
#pragma once

#include <string>

#include "transport/call_record.h"

namespace eave {

// {"rank", "host", "reason", "calls": [{"sequence", "meeting", "operation", "bytes", "root", "ranks", "start", "end"}]}
// Times are seconds since the first call that is kept; "end" is null where a call has not ended, "meeting" and "root"
// where it has none.
std::string calls_as_json(const CallRecord& calls, int rank, const std::string& host, const std::string& reason);

// calls-rank-R.json in `directory`. Not flushed to disk, for that may block. Returns whether it could be written.
bool write_calls(const std::string& directory, int rank, const std::string& json) noexcept;

}  // namespace eave
