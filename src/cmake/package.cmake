# cpack -G DEB in the build directory: eave_<version>_<architecture>.deb, of what install.cmake installs. For a machine of
# the same Debian or Ubuntu as that which built it: it depends on that one's libraries.
set(CPACK_PACKAGE_NAME eave)
set(CPACK_PACKAGE_VENDOR eave)
set(CPACK_PACKAGE_CONTACT "the maintainers of eave <maintainers@eave.invalid>" CACHE STRING
  "Who answers for packages: name and address, as in Debian's control files")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "elastic and synchronous averaging of model replicas under MPI")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "eave trains one model replica per MPI rank and keeps the replicas in
agreement by a communicator that is chosen when the job starts: synchronous
averaging of gradients, elastic averaging with a center variable, or one of
the other published ways. It finds out which of them is best for a model,
its data and a network, and trains with it. The package holds the program,
the library with its C++ headers, the manual page and completions for bash,
zsh and fish.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The files that Debian requires of a package with a shared library.
set(control ${CMAKE_CURRENT_BINARY_DIR}/debian)
file(CONFIGURE OUTPUT ${control}/triggers CONTENT "activate-noawait ldconfig\n")
file(CONFIGURE OUTPUT ${control}/shlibs CONTENT
  "libeave ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} eave (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/triggers ${control}/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin | mpich")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_files.cmake)
set(CPACK_GENERATOR DEB)
include(CPack)
