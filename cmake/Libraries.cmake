# SPDX-License-Identifier: Apache-2.0
# Everything that is not ours, all from Debian's packages: at least what Debian 12 has.
if(NCCL_ENV_PORTABLE)
  include(cmake/Portable.cmake)
else()
  find_package(prometheus-cpp REQUIRED COMPONENTS core)  # Debian's package states no version
  set(shared simdjson/3.0 yaml-cpp/0.7)
endif()
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED CONFIG)
find_package(OpenSSL 3.0 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
# Their own version files refuse each newer minor version, so the least one is compared here.
foreach(needed IN ITEMS ${shared} CLI11/2.1)
  string(REPLACE / ";" needed ${needed})
  list(GET needed 0 package)
  list(GET needed 1 least)
  find_package(${package} REQUIRED)
  if(${package}_VERSION VERSION_LESS least)
    message(FATAL_ERROR "${package} is ${${package}_VERSION}; nccl-env needs ${least} or later")
  endif()
endforeach()
# libibverbs has no CMake package. ibv_query_gid_table is in rdma-core 33 and later.
find_path(IBVERBS_INCLUDE_DIR infiniband/verbs.h REQUIRED)
find_library(IBVERBS_LIBRARY ibverbs REQUIRED)
if(NCCL_ENV_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 QUIET)  # for `make bench` alone, which installs it
endif()

# Beast and Asio as headers only, with coroutines, the same way in every translation unit.
add_library(nccl_env_asio INTERFACE)
target_link_libraries(nccl_env_asio INTERFACE Boost::headers OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
target_compile_definitions(nccl_env_asio INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_ARRAY BOOST_ASIO_DISABLE_BOOST_REGEX)
