# SPDX-License-Identifier: Apache-2.0
# A layer is a library whose public headers live in include/nccl_env/NAME and whose sources live in src/NAME,
# in rooms (folders) where there are many. A target sees only the headers of its own layer and of those it
# names in DEPENDS (and what these name): the include path is a folder of links, one per layer, so that an
# include that goes upwards does not compile. result.h is everybody's.
#
#   nccl_env_layer(core LIBRARIES nlohmann_json::nlohmann_json PRIVATE simdjson::simdjson)
#   nccl_env_layer(listing DEPENDS core)
function(nccl_env_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;LIBRARIES;PRIVATE" ${ARGN})
  set(view ${CMAKE_BINARY_DIR}/layers/${name})
  file(REMOVE_RECURSE ${view})
  file(MAKE_DIRECTORY ${view}/nccl_env)
  foreach(link IN ITEMS result.h ${name})
    if(EXISTS ${CMAKE_SOURCE_DIR}/include/nccl_env/${link})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/nccl_env/${link} ${view}/nccl_env/${link} SYMBOLIC)
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(main|libibverbs)\\.cc$")
  add_library(nccl_env_${name} STATIC ${sources})
  target_include_directories(nccl_env_${name} PUBLIC ${view} PRIVATE ${CMAKE_SOURCE_DIR}/src/${name})
  target_link_libraries(nccl_env_${name} PUBLIC ${LAYER_LIBRARIES} PRIVATE nccl_env_options ${LAYER_PRIVATE})
  if(NCCL_ENV_FUZZ)
    target_compile_options(nccl_env_${name} PRIVATE -fsanitize=fuzzer-no-link)  # coverage, which libFuzzer follows
    if(NOT name MATCHES "^(core|base|listing)$")
      # Half of the compile time. What fuzz targets spend their time in is optimised.
      target_compile_options(nccl_env_${name} PRIVATE -O0)
    endif()
  endif()
  foreach(dependency IN LISTS LAYER_DEPENDS)
    target_link_libraries(nccl_env_${name} PUBLIC nccl_env_${dependency})
  endforeach()
  nccl_env_unity(nccl_env_${name})
  add_library(nccl_env::${name} ALIAS nccl_env_${name})
  set_property(GLOBAL APPEND PROPERTY NCCL_ENV_LAYERS ${name})
endfunction()

# Groups the sources of TARGET by folder for unity builds, at most NCCL_ENV_UNITY_BATCH in one unit. Headers
# such as json.hpp cost seconds in each unit that includes them, so fewer units build faster.
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
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(folder IN LISTS folders)
    get_filename_component(room ${folder} NAME)
    set(count 0)
    foreach(source IN LISTS sources)
      get_filename_component(of ${source} DIRECTORY)
      if(of STREQUAL folder)
        math(EXPR batch "${count} / ${NCCL_ENV_UNITY_BATCH}")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${room}_${batch})
        math(EXPR count "${count} + 1")
      endif()
    endforeach()
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
