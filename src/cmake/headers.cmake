# EAVE_HEADERS: a hash of the public headers, as a number, and eave::headers, what a plug-in is compiled with: their directory and that
# hash. A plug-in that was compiled with others would call what is not there; so it is refused.
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/eave/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(hashes)
foreach(header ${headers})
  file(SHA256 ${header} hash)
  list(APPEND hashes ${hash})
endforeach()
string(SHA256 EAVE_HEADERS "${hashes}")
string(SUBSTRING ${EAVE_HEADERS} 0 16 EAVE_HEADERS)
string(PREPEND EAVE_HEADERS 0x)

include(GNUInstallDirs)
add_library(eave_headers INTERFACE)
target_include_directories(eave_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_definitions(eave_headers INTERFACE EAVE_HEADERS=${EAVE_HEADERS})
target_compile_features(eave_headers INTERFACE cxx_std_20)
set_target_properties(eave_headers PROPERTIES EXPORT_NAME headers)
