# The files that `cmake --install` installs, and the packages that `cpack` makes. Included last: it knows all targets.
#
#   bin/eave                            the program
#   lib/libeave.so                      all rooms but the program's own (src/app), for other programs: target eave::eave
#   lib/libeave_cuda.so                 where it was built; program and library open it at run time
#   include/eave  lib/cmake/eave  lib/pkgconfig
#   share/man  share/bash-completion  share/zsh  share/fish       written by the program itself: eave help --format
#   share/doc/eave                      documents, as they stand in the sources, and what they link to
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Static libraries are made of members that a linker drops where nobody names them; and with them the other program would
# have to find all that they need. So: one shared library of the whole archives, and nothing else is exported.
set(library_source ${CMAKE_CURRENT_BINARY_DIR}/library.cpp)
file(CONFIGURE OUTPUT ${library_source} CONTENT "// libeave.so is made of the rooms' archives.\n")
add_library(eave_library SHARED ${library_source})
target_link_libraries(eave_library PRIVATE
  -Wl,--whole-archive eave_base eave_kernels eave_device eave_data eave_nn eave_optim eave_transport eave_guard
  eave_communicator eave_checkpoint eave_c eave_train eave_report -Wl,--no-whole-archive)
# Its own calls stay within it, as in the program; nothing is left to be found when it is loaded.
target_link_options(eave_library PRIVATE LINKER:-Bsymbolic LINKER:-z,defs)
target_link_libraries(eave_library INTERFACE eave_headers)
# Before 1.0 each minor version may break programs.
set_target_properties(eave_library PROPERTIES OUTPUT_NAME eave EXPORT_NAME eave LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

include(src/cmake/run_path.cmake)
list_foreign_directories(foreign "/lib;/usr/lib;/usr/lib64;${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES}" ${MPI_CXX_LIBRARIES} ${DNNL_LIBRARY}
  ${XXHASH_LIBRARY} ${OPENSSL_CRYPTO_LIBRARY} ${JPEG_LIBRARIES} ${PNG_LIBRARIES} ${ZLIB_LIBRARIES} ${ICU_LIBRARIES})
set(run_path ${CMAKE_INSTALL_RPATH} ${foreign})  # an empty part would be the current directory
set_target_properties(eave eave_library PROPERTIES INSTALL_RPATH "${run_path}")

install(TARGETS eave RUNTIME)
install(TARGETS eave_library eave_headers EXPORT eave LIBRARY)
if(TARGET eave_cuda)
  install(TARGETS eave_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/eave TYPE INCLUDE)
install(FILES include/eave.h TYPE INCLUDE)
install(DIRECTORY include/python/eave DESTINATION ${CMAKE_INSTALL_DATADIR}/eave/python FILES_MATCHING PATTERN "*.py" PATTERN py.typed
        PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE TYPE DOC)
install(DIRECTORY include/examples TYPE DOC)

file(GLOB documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS *.md mpi_launch/*.md mpi_launch/guide/*.md src/*.md src/*/*.md src/*/*/*.md
     kernels/*.md include/*.md test/*.md test/gpu/*.md bench/*.md bench/questions/*.md
     bench/results/*.md bench/results/*.json bench/results/*.svg mpi_launch/guide/images/*.png include/examples/*.cpp include/examples/*.py)
foreach(document ${documents} include/eave.h kernels/cpu/wide/split_parts.h src/report/record/trace_file.h)
  get_filename_component(directory ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${directory})
endforeach()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/eave)
install(EXPORT eave NAMESPACE eave:: FILE eave-config.cmake DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/eave-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/eave-config-version.cmake DESTINATION ${package_directory})

file(RELATIVE_PATH up_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(src/cmake/eave.pc.in ${CMAKE_CURRENT_BINARY_DIR}/eave.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/eave.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# install_description(<format of eave help> <directory> <file name>)
function(install_description format directory name)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/descriptions/${name})
  add_custom_command(OUTPUT ${file} COMMAND eave help --format ${format} > ${file} DEPENDS eave VERBATIM)
  set_property(GLOBAL APPEND PROPERTY eave_descriptions ${file})
  install(FILES ${file} DESTINATION ${directory})
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/descriptions/bash)
install_description(man ${CMAKE_INSTALL_MANDIR}/man1 eave.1)
install_description(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions bash/eave)
install_description(zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _eave)
install_description(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d eave.fish)
get_property(descriptions GLOBAL PROPERTY eave_descriptions)
add_custom_target(eave_descriptions ALL DEPENDS ${descriptions})

include(src/cmake/package.cmake)
if(SKBUILD)  # set by scikit-build-core, which pip calls
  include(src/cmake/wheel.cmake)
endif()
