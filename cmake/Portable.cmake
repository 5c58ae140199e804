# SPDX-License-Identifier: Apache-2.0
# nccl-env as one file for any Linux (`make portable`): all that it uses is linked in. Debian's packages have OpenSSL and
# yaml-cpp as static libraries, too. simdjson is compiled from the source package of the one that is installed, which
# scripts/portable brings. prometheus-cpp writes metrics, which no command has: the linker leaves out what would call it.
set(OPENSSL_USE_STATIC_LIBS ON)
set(NCCL_ENV_SIMDJSON "" CACHE PATH "Folder with simdjson.h and simdjson.cpp, the two files of its singleheader/")

add_library(nccl_env_simdjson STATIC ${NCCL_ENV_SIMDJSON}/simdjson.cpp)
target_include_directories(nccl_env_simdjson SYSTEM PUBLIC ${NCCL_ENV_SIMDJSON})
# A command reads one listing: the ways for newer processors gain nothing and take 70 kB.
target_compile_definitions(nccl_env_simdjson PUBLIC SIMDJSON_IMPLEMENTATION_ICELAKE=0 SIMDJSON_IMPLEMENTATION_HASWELL=0)
add_library(simdjson::simdjson ALIAS nccl_env_simdjson)

find_library(NCCL_ENV_YAML_CPP libyaml-cpp.a REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${NCCL_ENV_YAML_CPP})
add_library(prometheus-cpp::core INTERFACE IMPORTED)

# The program's address stays a matter of chance: static-pie. Its 26 000 relocations take 0.6 MB unless they are packed, which
# Debian 12's linker does for x86 alone. It warns of dlopen, getaddrinfo and gethostbyname: net/modules.h is why they are safe.
add_link_options(-static-pie -Wl,--gc-sections)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_link_options(-Wl,-z,pack-relative-relocs)
endif()
