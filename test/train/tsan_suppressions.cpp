// oneDNN keeps the plans it has made in a cache that all threads share. Its library is not built for ThreadSanitizer,
// which sees the memory change hands, but not the lock.
extern "C" const char* __tsan_default_suppressions() { return "race:^dnnl::\nrace:libdnnl.so\n"; }
