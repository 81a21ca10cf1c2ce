#!/usr/bin/env bash
# Proves that the newest backup can be restored: restores it into a dedicated database, compares every balance, and empties the
# database again.
#   DATABASE_DRILL_URL=postgresql://…/tollgate_drill ops/backup/drill.sh FOLDER
# Create it once: CREATE DATABASE tollgate_drill OWNER tollgate_owner. It may be on another server, where both roles must exist,
# too.
set -euo pipefail

: "${DATABASE_DRILL_URL:?is not set: the URL of a database whose name ends in _drill; it will be emptied}"
folder=${1:?usage: ops/backup/drill.sh FOLDER}
newest=$(find "$folder" -maxdepth 1 -type f -name 'tollgate-*.dump' | sort | tail -n 1)
[[ -n $newest ]] || { echo "drill failed: there is no backup in $folder" >&2; exit 1; }
[[ -z $(find "$newest" -mmin +2160) ]] || { echo "drill failed: $newest, the newest backup, is older than 36 hours" >&2; exit 1; }

query() { psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 "$@" "$DATABASE_DRILL_URL"; }

# A database in use must never be wiped, whatever the URL says.
name=$(query --command='SELECT current_database()')
[[ $name == *_drill ]] || { echo "drill refused: the name of $name does not end in _drill" >&2; exit 1; }

DATABASE_OWNER_URL=$DATABASE_DRILL_URL "$(dirname "$0")/restore.sh" --wipe "$newest"
PGOPTIONS='-c client_min_messages=warning' query --file="$(dirname "$0")/empty-schema.sql"
