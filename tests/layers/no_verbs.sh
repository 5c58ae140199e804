#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The webhook runs on nodes without RDMA and must start there: it may not need libibverbs or librdmacm.
set -eu
loaded=$(ldd "$1")
case $loaded in
  *libssl*) ;;
  *) echo "ldd lists no libssl for $1, so it says nothing about libibverbs:"; echo "$loaded"; exit 1 ;;
esac
case $loaded in
  *libibverbs* | *librdmacm* | *libmlx5*) echo "$1 loads RDMA libraries:"; echo "$loaded"; exit 1 ;;
esac
