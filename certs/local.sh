#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A certificate authority and a server certificate for a webhook on this machine, by openssl.
# Run again, it keeps what still serves: the CA until 30 days before its end, the certificate also while its
# names are the same. usage: certs/local.sh [DIR [NAME|ADDRESS]...]
set -eu

case "${1:-}" in
-h | --help) echo "usage: $0 [DIR [NAME|ADDRESS]...]   (./certs/local, localhost 127.0.0.1 ::1)"; exit 0 ;;
esac
dir=${1:-$(dirname "$0")/local}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- localhost 127.0.0.1 ::1

month=$((30 * 24 * 3600))
umask 077
mkdir -p "$dir"
cd "$dir"

names=""
for name; do
  case "$name" in
  "" | *[!A-Za-z0-9.:*_-]*) echo "local.sh: '$name' is neither a name nor an address" >&2; exit 2 ;;
  *:*) kind=IP ;;                 # IPv6
  *[!0-9.]*) kind=DNS ;;
  *) kind=IP ;;
  esac
  names="$names${names:+,}$kind:$name"
done

lasts() { openssl x509 -in "$1" -noout -checkend $month >/dev/null 2>&1; }
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

made=""
if ! { lasts ca.crt && openssl pkey -in ca.key -noout 2>/dev/null; }; then
  key ca.key
  openssl req -x509 -new -key ca.key -sha256 -days 3650 -subj "/CN=nccl-env local CA" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" -out ca.crt
  made=" ca.crt"
fi

if ! { lasts tls.crt && openssl verify -CAfile ca.crt tls.crt >/dev/null 2>&1 &&
  [ "$(openssl pkey -in tls.key -pubout 2>/dev/null)" = "$(openssl x509 -in tls.crt -noout -pubkey)" ] &&
  [ "$(cat names 2>/dev/null)" = "$names" ]; }; then
  key tls.key.new
  printf '%s\n' "basicConstraints=critical,CA:FALSE" "keyUsage=critical,digitalSignature" \
    "extendedKeyUsage=serverAuth" "subjectAltName=$names" >extensions
  openssl req -new -key tls.key.new -subj "/CN=nccl-env-webhook" |
    openssl x509 -req -sha256 -days 365 -CA ca.crt -CAkey ca.key -extfile extensions \
      -set_serial "0x$(openssl rand -hex 16 | sed 's/^./7/')" -out tls.crt.new 2>/dev/null
  rm extensions
  mv tls.key.new tls.key
  mv tls.crt.new tls.crt
  printf '%s\n' "$names" >names
  made="$made tls.crt"
fi
chmod 644 ca.crt tls.crt
echo "$PWD: ${made:+made$made; }ca.crt, tls.crt and tls.key for $names"
