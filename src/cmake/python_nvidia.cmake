# python3's packages of NVIDIA (wheels), as PyTorch brings them. They may be of another CUDA than the toolkit: code that is
# linked to a cuDNN for CUDA 12 loads a second cuBLAS, of CUDA 12.

# Each folder `nvidia` among python3's packages; nothing if there is none. A user's packages add a second one.
function(find_python_nvidia variable)
  set(question "import importlib.util as u; print(*u.find_spec('nvidia').submodule_search_locations, sep=';')")
  execute_process(COMMAND python3 -c "${question}" OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE code ERROR_QUIET)
  if(NOT code EQUAL 0)
    set(folders)
  endif()
  set(${variable} "${folders}" PARENT_SCOPE)
endfunction()

# find_wheels(<variable> <package>): the folders of cudnn or nccl in EAVE_PYTHON_NVIDIA that are made for the toolkit's CUDA.
function(find_wheels variable package)
  set(found)
  foreach(place ${EAVE_PYTHON_NVIDIA})
    file(GLOB facts ${place}/../nvidia_${package}_cu${CUDAToolkit_VERSION_MAJOR}-*.dist-info)
    if(facts)
      list(APPEND found ${place}/${package})
    endif()
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# cuBLAS's folder is that of all of CUDA 13; for CUDA 12 it has its own.
function(find_cublas_wheels variable)
  set(folder cu${CUDAToolkit_VERSION_MAJOR})
  if(CUDAToolkit_VERSION_MAJOR EQUAL 12)
    set(folder cublas)
  endif()
  list(TRANSFORM EAVE_PYTHON_NVIDIA APPEND /${folder} OUTPUT_VARIABLE found)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
