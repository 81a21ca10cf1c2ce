#!/usr/bin/env bash
# Restores a backup of backup.sh into a database and verifies that every balance matches. Stop the API and the workers first.
#   DATABASE_OWNER_URL=postgresql://… ops/backup/restore.sh [--wipe] FOLDER/tollgate-<time>.dump
# Refuses a database that is not empty; with --wipe its content is dropped. Both roles must exist (ops/postgres/create-roles.sh).
# Atomic: a restore that fails leaves the database unchanged.
# Afterwards: run the migrations, empty Redis, start, and call GET /admin/v1/ledger/verify.
set -euo pipefail

: "${DATABASE_OWNER_URL:?is not set: the owner creates the tables}"
wipe=no
if [[ ${1:-} == --wipe ]]; then
  wipe=yes
  shift
fi
dump=${1:?usage: ops/backup/restore.sh [--wipe] FILE.dump}
balances=${dump%.dump}.balances.csv
[[ -r $dump && -r $balances ]] || { echo "restore failed: $dump and $balances must both be readable" >&2; exit 1; }
export PGAPPNAME=tollgate-restore PGOPTIONS='-c statement_timeout=0'

query() { psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 "$@" "$DATABASE_OWNER_URL"; }

tables=$(query --command="SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('public')")
if [[ $tables != 0 && $wipe == no ]]; then
  echo "restore refused: the database is not empty; --wipe drops its content" >&2
  exit 1
fi
others=$(query --command="SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND usename IS NOT NULL")
if [[ $others != 0 ]]; then
  echo "restore refused: $others other connections are open; stop the API and the workers first" >&2
  exit 1
fi

extensions() {
  query --command="SELECT string_agg(extname, ', ' ORDER BY extname) FROM pg_extension WHERE extnamespace = to_regnamespace('public')"
}
before=$(extensions)

# One transaction: the old content is dropped only when the restore is complete. Only Tollgate's schema is restored: extensions,
# for monitoring for example, belong to a superuser.
{
  echo 'BEGIN;'
  cat "$(dirname "$0")/empty-schema.sql"
  pg_restore --no-owner --schema=public --file=- "$dump" || echo 'SELECT pg_restore_failed;'
  echo 'COMMIT;'
} | PGOPTIONS="$PGOPTIONS -c client_min_messages=warning" query --output=/dev/null

if ! diff --brief "$balances" <(query --command="COPY (SELECT account_id, posted, held, used, debt, seq
  FROM balances ORDER BY account_id) TO STDOUT WITH (FORMAT csv, HEADER)") > /dev/null; then
  echo 'restore failed: the balances differ from those of the backup' >&2
  exit 1
fi
echo "restored $dump: $(($(wc -l < "$balances") - 1)) accounts, every balance as in the backup"
[[ $before == "$(extensions)" ]] || echo "dropped with the old content: the extensions $before; a superuser can create them again"
