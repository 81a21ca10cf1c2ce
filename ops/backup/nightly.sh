#!/usr/bin/env bash
# One scheduled backup: creates a dump and deletes those that are too old, but never the newest.
#   DATABASE_OWNER_URL=postgresql://… ops/backup/nightly.sh FOLDER [DAYS]
set -euo pipefail

folder=${1:?usage: ops/backup/nightly.sh FOLDER [DAYS]}
days=${2:-30}
"$(dirname "$0")/backup.sh" "$folder"
# only after the new dump was created successfully
find "$folder" -maxdepth 1 -type f \( -name 'tollgate-*.dump' -o -name 'tollgate-*.balances.csv' \) -mtime "+$days" -print -delete
