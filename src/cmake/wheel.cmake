# The content of a Python wheel besides the package's modules (pyproject.toml): the library and the program. The package loads the
# MPI that they need before them, so their run paths name only what the loader does not know.
#
# A file in a wheel cannot be a link, so there is one libeave.so, without a version in its name.
set_property(TARGET eave_library PROPERTY VERSION)
set_property(TARGET eave_library PROPERTY SOVERSION)
install(TARGETS eave_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT python)
install(TARGETS eave RUNTIME DESTINATION bin COMPONENT python)
if(TARGET eave_cuda)
  install(TARGETS eave_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT python)
endif()
# PyPI's Open MPI lacks libmpi_cxx.so, which Debian's compiler wrapper links and eave does not use.
target_link_options(eave_library PRIVATE LINKER:--as-needed)
target_link_options(eave PRIVATE LINKER:--as-needed)
