// The record that --stage-to keeps of its copies: the original of each, and its hash.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "data/loading/staged_folder.h"

namespace eave {

// The state by which a file is recognised. Programs can set the time of modification back, but not that of change.
struct FileState {
  std::int64_t size = 0, inode = 0, modified_ns = 0, changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of_file(int file);

struct StagedCopy {
  std::string hash;  // XXH3 of the bytes that were copied, as text
  FileState original, copy;
  // When the copy was last read and had that hash, in seconds since 1970.
  std::int64_t looked_at_s = 0;
};

// The record is the file `eave-staged` of a folder, with one line for each copy. A later line replaces earlier ones of
// the same name. The record finds damage and accidental changes. Anybody who may write in the folder can forge it.
class StagingRecord {
 public:
  // Reads the record. Leaves out a torn line, such as the last one after a kill.
  explicit StagingRecord(StagedFolder& folder);
  const StagedCopy* find(const std::string& name) const;  // nullptr: no such copy is recorded
  void add(const std::string& name, const StagedCopy& copy);

 private:
  std::map<std::string, StagedCopy> copies_;  // by the hash of the name
  StagedFolder& folder_;
  Descriptor file_;
};

}  // namespace eave
