// oneDNN keeps its plans in a cache that all threads share. Its library is not built for ThreadSanitizer, so the
// sanitizer sees that threads share the memory, but not the lock that guards it.
extern "C" const char* __tsan_default_suppressions() { return "race:^dnnl::\nrace:libdnnl.so\n"; }
