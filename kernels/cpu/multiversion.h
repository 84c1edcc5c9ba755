// Compiles a function for several instruction sets. When the program is loaded, the version that fits the CPU is
// chosen. Sanitizers run before the choice can be made, so their builds have one version (EAVE_ONE_VERSION).
#pragma once

#if defined(EAVE_ONE_VERSION) || !defined(__x86_64__)
#define EAVE_MULTIVERSION
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define EAVE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EAVE_MULTIVERSION __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#endif

// For functions that such a function calls: they must be compiled as part of it.
#define EAVE_INLINE inline __attribute__((always_inline))
