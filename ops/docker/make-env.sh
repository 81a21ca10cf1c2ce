#!/bin/sh
# Prints an .env for docker-compose.yml with fresh secrets. PUBLIC_URL can be passed as the first argument.
#   sh ops/docker/make-env.sh https://models.example.com > .env
set -eu
umask 077

secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

cat <<ENV
# Secrets of this installation. Keep a copy with the backups: a restore needs TOLLGATE_SECRET.
PUBLIC_URL=${1:-http://localhost:8080}
POSTGRES_PASSWORD=$(secret)
DATABASE_OWNER_PASSWORD=$(secret)
DATABASE_APPLICATION_PASSWORD=$(secret)
REDIS_PASSWORD=$(secret)
TOLLGATE_SECRET=$(secret)
ADMIN_TOKEN=$(secret)
GRAFANA_PASSWORD=$(secret)
ENV
