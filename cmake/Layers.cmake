# SPDX-License-Identifier: Apache-2.0
# A layer is a library whose public headers live in include/nccl_env/NAME and whose sources live in src/NAME,
# in rooms (folders) where there are many. A target sees only the headers of its own layer and of those it
# names in DEPENDS (and what these name): the include path is a folder of links, one per layer, so that an
# include that goes upwards does not compile. result.h, hex.h and json_text.h are everybody's.
#
#   nccl_env_layer(core LIBRARIES nlohmann_json::nlohmann_json PRIVATE simdjson::simdjson COLD_ROOMS explain doctor)
#   nccl_env_layer(listing DEPENDS core COLD)
#
# COLD: no request waits for this layer, or for these rooms of it. A release optimises them for size, which takes
# half the time to compile and a third of the code.
function(nccl_env_layer name)
  cmake_parse_arguments(LAYER "COLD" "" "DEPENDS;LIBRARIES;PRIVATE;COLD_ROOMS" ${ARGN})
  set(view ${CMAKE_BINARY_DIR}/layers/${name})
  file(REMOVE_RECURSE ${view})
  file(MAKE_DIRECTORY ${view}/nccl_env)
  foreach(link IN ITEMS result.h hex.h json_text.h ${name})
    if(EXISTS ${CMAKE_SOURCE_DIR}/include/nccl_env/${link})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/nccl_env/${link} ${view}/nccl_env/${link} SYMBOLIC)
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(main|libibverbs)\\.cc$")
  set(targets nccl_env_${name})
  set(cold "")
  foreach(room IN LISTS LAYER_COLD_ROOMS)
    set(of_room ${sources})
    list(FILTER of_room INCLUDE REGEX "/src/${name}/${room}/")
    list(REMOVE_ITEM sources ${of_room})
    add_library(nccl_env_${name}_${room} OBJECT ${of_room})
    list(APPEND cold nccl_env_${name}_${room})
  endforeach()
  list(APPEND targets ${cold})
  add_library(nccl_env_${name} STATIC ${sources})
  foreach(target IN LISTS targets)
    target_include_directories(${target} PUBLIC ${view} PRIVATE ${CMAKE_SOURCE_DIR}/src/${name})
    target_link_libraries(${target} PUBLIC ${LAYER_LIBRARIES} PRIVATE nccl_env_options ${LAYER_PRIVATE})
    foreach(dependency IN LISTS LAYER_DEPENDS)
      target_link_libraries(${target} PUBLIC nccl_env_${dependency})
    endforeach()
    if(LAYER_COLD OR target IN_LIST cold)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
    endif()
    if(NCCL_ENV_FUZZ)
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # coverage, which libFuzzer follows
      if(NOT target MATCHES "^nccl_env_(core|core_explain|base|listing)$")
        # Half of the compile time and more. What fuzz targets spend their time in is optimised.
        target_compile_options(${target} PRIVATE -O0)
      endif()
    endif()
    nccl_env_unity(${target})
  endforeach()
  foreach(target IN LISTS cold)
    target_sources(nccl_env_${name} PRIVATE $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(nccl_env::${name} ALIAS nccl_env_${name})
  set_property(GLOBAL APPEND PROPERTY NCCL_ENV_LAYERS ${name})
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
    # GCC stops inlining when a unit has grown by 40 %. In units of many sources this cost 4 % of the instructions
    # of a review (callgrind).
    target_compile_options(${target} PRIVATE
      "$<$<CONFIG:Release>:--param=inline-unit-growth=150;--param=large-unit-insns=30000>")
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

# One object library per layer, NAME_headers: each public header compiled alone, twice in one translation
# unit, with the include view of its layer and nothing else. Target `header_checks` is all of them.
function(nccl_env_header_checks)
  add_custom_target(header_checks)
  get_property(layers GLOBAL PROPERTY NCCL_ENV_LAYERS)
  foreach(layer IN LISTS layers)
    set(view ${CMAKE_BINARY_DIR}/layers/${layer})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS FOLLOW_SYMLINKS RELATIVE ${view} ${view}/*.h)
    set(units "")
    foreach(header IN LISTS headers)
      string(REPLACE "/" "_" unit ${header})
      set(unit ${CMAKE_BINARY_DIR}/header_checks/${layer}/${unit}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
      list(APPEND units ${unit})
    endforeach()
    if(units)
      add_library(${layer}_headers OBJECT EXCLUDE_FROM_ALL ${units})
      target_link_libraries(${layer}_headers PRIVATE nccl_env::${layer} nccl_env_options)
      target_compile_options(${layer}_headers PRIVATE -O0 -fsyntax-only)
      add_dependencies(header_checks ${layer}_headers)
    endif()
  endforeach()
endfunction()
