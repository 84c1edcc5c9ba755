# Run by cpack between installing and packing: its licence and its changes stand where Debian looks for them.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(tree ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(documents ${tree}/share/doc/eave)

# The text of this licence is on every Debian machine.
file(REMOVE ${documents}/LICENSE)
file(WRITE ${documents}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: eave

Files: *
Copyright: 2026 the contributors to eave
License: Apache-2.0
 On Debian systems the text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
")
file(WRITE ${documents}/changelog "eave (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Packaged by cpack.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000
")
execute_process(COMMAND gzip -9n ${documents}/changelog ${tree}/share/man/man1/eave.1 COMMAND_ERROR_IS_FATAL ANY)
