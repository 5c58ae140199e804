# SPDX-License-Identifier: Apache-2.0
# Warnings, hardening and sanitizers that every target of ours gets.
add_library(nccl_env_options INTERFACE)
target_compile_options(nccl_env_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wundef
  -fstack-protector-strong)
# Bounds of [], front() and the like are checked in all builds: a slip of a parser ends the program and reads nothing.
target_compile_definitions(nccl_env_options INTERFACE _GLIBCXX_ASSERTIONS)
if(NCCL_ENV_WERROR)
  target_compile_options(nccl_env_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A view of a text that ends with its line: clang sees it, GCC 12 does not.
  target_compile_options(nccl_env_options INTERFACE -Werror=dangling -Werror=dangling-gsl)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of "text" + std::string in optimised builds (its bug 105651).
  target_compile_options(nccl_env_options INTERFACE -Wno-restrict)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT NCCL_ENV_SANITIZE)
  target_compile_options(nccl_env_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(nccl_env_options INTERFACE -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    target_compile_options(nccl_env_options INTERFACE -mbranch-protection=standard)
  endif()
  target_link_options(nccl_env_options INTERFACE -Wl,-z,relro,-z,now)
endif()
if(NCCL_ENV_SANITIZE)
  target_compile_options(nccl_env_options INTERFACE
    -fsanitize=${NCCL_ENV_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(nccl_env_options INTERFACE -fsanitize=${NCCL_ENV_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(nccl_env_options INTERFACE -fuse-ld=lld)
  endif()
  if(NCCL_ENV_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # clang 14 cannot give coroutines what it checks calls through pointers with ("difference across sections").
    target_compile_options(nccl_env_options INTERFACE -fno-sanitize=function)
  endif()
  if(NCCL_ENV_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio uses atomic_thread_fence, which GCC's TSan warns that it does not model.
    target_compile_options(nccl_env_options INTERFACE -Wno-tsan)
  endif()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(NCCL_ENV_CCACHE ccache)
if(NCCL_ENV_CCACHE)
  # Objects of one checkout serve another, in another folder.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${NCCL_ENV_CCACHE})
endif()
