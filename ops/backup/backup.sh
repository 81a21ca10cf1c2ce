#!/usr/bin/env bash
# Backs up the database of a running Tollgate. Nothing is stopped, and no calls are blocked.
#   DATABASE_OWNER_URL=postgresql://… ops/backup/backup.sh FOLDER
# Creates FOLDER/tollgate-<time>.dump (pg_dump, custom format) and FOLDER/tollgate-<time>.balances.csv: every balance as of the
# same snapshot, which restore.sh compares. pg_dump must be of the server's version or newer.
# Not included, so keep your own copies: TOLLGATE_SECRET and the other settings, tollgate.yaml, media files.
set -euo pipefail
umask 077

: "${DATABASE_OWNER_URL:?is not set: the owner may read everything}"
folder=${1:?usage: ops/backup/backup.sh FOLDER}
mkdir -p "$folder"
started=$(date +%s)
name="$folder/tollgate-$(date -u -d "@$started" +%Y%m%dT%H%M%SZ)"
export PGAPPNAME=tollgate-backup PGOPTIONS='-c statement_timeout=0 -c idle_in_transaction_session_timeout=0'
trap 'rm -f "$name.dump.part" "$name.balances.csv.part"' EXIT

# A session that keeps the snapshot open, so that balances and dump show the same instant.
coproc SNAPSHOT { psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 "$DATABASE_OWNER_URL"; }
# shellcheck disable=SC2153 # bash sets it for the coprocess
snapshot_pid=$SNAPSHOT_PID
exec {to}>&"${SNAPSHOT[1]}" {from}<&"${SNAPSHOT[0]}"
printf 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\nSELECT pg_export_snapshot();\n' >&"$to"
read -r snapshot <&"$from" || { echo 'backup failed: the database is unreachable' >&2; exit 1; }

printf '%s\n' "\\copy (SELECT account_id, posted, held, used, debt, seq FROM balances ORDER BY account_id) TO '$name.balances.csv.part' WITH (FORMAT csv, HEADER)" >&"$to"
pg_dump --format=custom --no-owner --schema=public --snapshot="$snapshot" --lock-wait-timeout=30s --file="$name.dump.part" "$DATABASE_OWNER_URL"
printf 'COMMIT;\n\\quit\n' >&"$to"
wait "$snapshot_pid"

# A dump that cannot be listed is not a valid backup.
pg_restore --list "$name.dump.part" > /dev/null
mv "$name.dump.part" "$name.dump"
mv "$name.balances.csv.part" "$name.balances.csv"
bytes=$(stat --format=%s "$name.dump")
# Recorded for the gauge tollgate_backup_age_seconds. The dump is valid even if this fails: the schema may be older, or the
# database a standby.
psql --no-psqlrc --quiet --command="INSERT INTO backups (at, bytes) VALUES (to_timestamp($started), $bytes) ON CONFLICT DO NOTHING" "$DATABASE_OWNER_URL" \
  || echo "the backup was created, but could not be recorded in the database" >&2
accounts=$(($(wc -l < "$name.balances.csv") - 1))
echo "$name.dump: $bytes bytes, $accounts accounts"
