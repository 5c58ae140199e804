# SPDX-License-Identifier: Apache-2.0
# A layer is a library whose public headers live in include/nccl_env/NAME and whose sources live in src/NAME,
# in rooms (folders) where there are many. A target sees only the headers of its own layer and of those it
# names in DEPENDS (and what these name): the include path is a folder of links, one per layer, so that an
# include that goes upwards does not compile. result.h, hex.h, json_text.h and utf8.h are everybody's.
#
#   nccl_env_layer(core LIBRARIES nlohmann_json::nlohmann_json PRIVATE simdjson::simdjson EXCEPT proof)
#   nccl_env_layer(core/proof DEPENDS core COLD)
#
# LAYER/ROOM: a room as a library of its own, which its layer leaves out by EXCEPT. The rooms of a layer see the same
# headers.
# COLD: no request waits for it. A release optimises it for size, which takes half the time to compile and a third
# of the code.
function(nccl_env_layer name)
  cmake_parse_arguments(LAYER "COLD" "" "DEPENDS;LIBRARIES;PRIVATE;EXCEPT" ${ARGN})
  string(REPLACE "/" "_" target nccl_env_${name})
  string(REGEX REPLACE "/.*" "" layer ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(main|libibverbs)\\.cc$")
  foreach(room IN LISTS LAYER_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/src/${name}/${room}/")
  endforeach()
  add_library(${target} STATIC ${sources})
  string(REPLACE nccl_env_ nccl_env:: alias ${target})
  add_library(${alias} ALIAS ${target})
  if(name STREQUAL layer)
    set(view ${CMAKE_BINARY_DIR}/layers/${name})
    file(REMOVE_RECURSE ${view})
    file(MAKE_DIRECTORY ${view}/nccl_env)
    foreach(link IN ITEMS result.h hex.h json_text.h utf8.h ${name})
      if(EXISTS ${CMAKE_SOURCE_DIR}/include/nccl_env/${link})
        file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/nccl_env/${link} ${view}/nccl_env/${link} SYMBOLIC)
      endif()
    endforeach()
    target_include_directories(${target} PUBLIC ${view})
    set_property(GLOBAL APPEND PROPERTY NCCL_ENV_LAYERS ${name})
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/${layer})
  target_link_libraries(${target} PUBLIC ${LAYER_LIBRARIES} PRIVATE nccl_env_options ${LAYER_PRIVATE})
  foreach(dependency IN LISTS LAYER_DEPENDS)
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} PUBLIC nccl_env_${dependency})
  endforeach()
  if(LAYER_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
    set_property(GLOBAL APPEND PROPERTY NCCL_ENV_COLD ${target})
  else()
    set_property(GLOBAL APPEND PROPERTY NCCL_ENV_HOT ${target})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # A unit may grow by inlining as much as its sources would one by one: beyond GCC's limit for large units,
      # comparisons of string_views stay calls.
      target_compile_options(${target} PRIVATE
        $<$<CONFIG:Release>:--param=inline-unit-growth=400 --param=large-unit-insns=200000>)
    endif()
  endif()
  if(NCCL_ENV_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # coverage, which libFuzzer follows
    if(NOT target MATCHES "^nccl_env_(core|judge|base|listing)$")
      # Half of the compile time and more. What fuzz targets spend their time in is optimised.
      target_compile_options(${target} PRIVATE -O0)
    endif()
  endif()
  nccl_env_unity(${target})
endfunction()

# Groups the sources of TARGET for unity builds, folder by folder, at most NCCL_ENV_UNITY_BATCH in one unit and as many in
# each. Headers such as json.hpp, and the templates that every unit makes of them, cost 10 seconds of a unit: the fewer
# units, the faster a build.
function(nccl_env_unity target)
  if(NOT NCCL_ENV_UNITY_BATCH)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # In a unit of several sources GCC takes a type of an unnamed namespace for one of a header.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${NCCL_ENV_UNITY_BATCH} - 1) / ${NCCL_ENV_UNITY_BATCH}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(index 0)
  foreach(source IN LISTS sources)
    math(EXPR unit "${index} * ${units} / ${count}")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${unit})
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()

# Links the objects of the layers that requests wait for into PROGRAM, and before all archives: of an inline function the
# linker takes the first copy that it meets, and a cold layer's is slow.
function(nccl_env_hot_first program)
  get_property(hot GLOBAL PROPERTY NCCL_ENV_HOT)
  foreach(layer IN LISTS hot)
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
endfunction()
