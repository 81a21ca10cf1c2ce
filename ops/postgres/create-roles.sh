#!/bin/sh
# Creates Tollgate's roles:
# - tollgate_owner owns the schema and migrates it.
# - tollgate_app serves. It cannot write money tables directly, only call the ledger's functions.
# - tollgate_worker, if DATABASE_WORKER_PASSWORD is set, can only claim and settle tasks (DATABASE_WORKER_ROLE=tollgate_worker).
# - tollgate_scaler, if DATABASE_SCALER_PASSWORD is set, can only count tasks (DATABASE_SCALER_ROLE=tollgate_scaler).
# Pass the variables in parentheses to the migration, which grants the privileges.
# Runs once on an empty Postgres (docker-entrypoint-initdb.d), or manually as a superuser: DATABASE_OWNER_PASSWORD=…
# DATABASE_APPLICATION_PASSWORD=… POSTGRES_USER=postgres sh ops/postgres/create-roles.sh
# The database (POSTGRES_DB, default tollgate) must exist. Safe to run again: it then resets the passwords.
set -eu

database=${POSTGRES_DB:-tollgate}
: "${DATABASE_OWNER_PASSWORD:?is not set}" "${DATABASE_APPLICATION_PASSWORD:?is not set}"

# The passwords are passed in the environment, not in the arguments.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=database="$database" \
  --username="${POSTGRES_USER:-postgres}" --dbname="$database" <<'SQL'
\getenv owner_password DATABASE_OWNER_PASSWORD
\getenv application_password DATABASE_APPLICATION_PASSWORD
SELECT format('CREATE ROLE %I', name)
  FROM unnest(ARRAY['tollgate_owner', 'tollgate_app']) AS name
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE tollgate_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
ALTER ROLE tollgate_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'application_password';
-- The application sets the same for each session, but a router of several databases does not pass on session settings.
ALTER ROLE tollgate_app SET lock_timeout = '1s';
ALTER ROLE tollgate_app SET statement_timeout = '10s';
ALTER ROLE tollgate_app SET idle_in_transaction_session_timeout = '5s';
ALTER DATABASE :"database" OWNER TO tollgate_owner;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE :"database" TO tollgate_app;
SQL

if [ -n "${DATABASE_WORKER_PASSWORD:-}" ]; then
  psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=database="$database" \
    --username="${POSTGRES_USER:-postgres}" --dbname="$database" <<'SQL'
\getenv worker_password DATABASE_WORKER_PASSWORD
SELECT 'CREATE ROLE tollgate_worker' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_worker') \gexec
ALTER ROLE tollgate_worker LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'worker_password';
ALTER ROLE tollgate_worker SET lock_timeout = '1s';
ALTER ROLE tollgate_worker SET statement_timeout = '10s';
ALTER ROLE tollgate_worker SET idle_in_transaction_session_timeout = '5s';
GRANT CONNECT ON DATABASE :"database" TO tollgate_worker;
SQL
fi

if [ -n "${DATABASE_SCALER_PASSWORD:-}" ]; then
  psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=database="$database" \
    --username="${POSTGRES_USER:-postgres}" --dbname="$database" <<'SQL'
\getenv scaler_password DATABASE_SCALER_PASSWORD
SELECT 'CREATE ROLE tollgate_scaler' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_scaler') \gexec
ALTER ROLE tollgate_scaler LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'scaler_password';
ALTER ROLE tollgate_scaler SET statement_timeout = '10s';
GRANT CONNECT ON DATABASE :"database" TO tollgate_scaler;
SQL
fi
