#!/usr/bin/env bash
# What compose.yaml needs before its first start, in ./secrets beside it (FOLDER: elsewhere): a password of the database, an authority,
# and a certificate of both replicas. Leaves alone what is there.
#   prepare.sh [FOLDER]
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"
umask 077
if [ ! -e postgres-password ]; then
  openssl rand -hex 24 > postgres-password
  echo "postgres:5432:railweave:railweave:$(cat postgres-password)" > pgpass
fi
if [ ! -e railweaved.pem ]; then
  new=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
  openssl req -x509 "${new[@]}" -days 3650 -keyout authority.key -out authority.pem -subj "/CN=Railweave's authority" 2> /dev/null
  openssl req "${new[@]}" -keyout railweaved.key -out railweaved.csr -subj "/CN=railweaved" 2> /dev/null
  openssl x509 -req -in railweaved.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 825 -out railweaved.pem 2> /dev/null \
    -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:railweaved-1,DNS:railweaved-2")
  rm railweaved.csr
fi
echo "prepared: $PWD (the authority that clients trust: authority.pem)"
