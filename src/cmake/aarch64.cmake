# Toolchain for Debian's and Ubuntu's cross compiler for aarch64 (Grace, Graviton, Ampere) and their multiarch packages:
#
#   cmake -S . -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=src/cmake/aarch64.cmake
#
# Programs that were built run under qemu-user. test/check_aarch64 makes a root folder with all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# FindMPI asks this machine's mpicxx, Open MPI's, which answers for the directories named here.
set(ENV{OPAL_INCLUDEDIR} /usr/lib/aarch64-linux-gnu/openmpi/include)
set(ENV{OPAL_LIBDIR} /usr/lib/aarch64-linux-gnu/openmpi/lib)
