#!/usr/bin/env bash
# Starts the service as the official harness starts a facilitator: PORT and EVM_RPC_URL come from the harness,
# OFFICIAL_* from `npm run test:official`.
set -euo pipefail
cd "${OFFICIAL_APP:?}"

export NETWORKS=eip155:84532 RPC_URLS_84532="${EVM_RPC_URL:?}" ROLES=api,worker,history
export SIGNER_KEYS="${OFFICIAL_LANE_KEYS:?}" OPS_PORT="${OFFICIAL_OPS_PORT:?}"
export REDIS_URL="${OFFICIAL_REDIS_URL:?}" DATABASE_URL="${OFFICIAL_DATABASE_URL:?}"
# The servers of the harness listen at localhost, and its chain is a local one.
export CATALOGUE_ALLOW=localhost HEAD_MAX_AGE_MS=0 MAX_GAS_PRICE_GWEI_84532=50
export BATCH_SAFE_ASSETS=eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e,eip155:84532/0xeED520980fC7C7B4eB379B96d61CEdea2423005a
export APPROVAL_SPONSORING_84532=1 APPROVAL_MAX_FEE_GWEI_84532=50 APPROVAL_MAX_TOP_UP_84532=0.05
# The harness sends transactions with this key itself: it is no lane of ours.
unset EVM_PRIVATE_KEY

node dist/main.js &
SERVICE=$!
trap 'kill "$SERVICE" 2>/dev/null || true' EXIT INT TERM
# The harness ends what takes too long.
until curl -fsS "http://127.0.0.1:${PORT:?}/health" >/dev/null 2>&1; do
  kill -0 "$SERVICE" 2>/dev/null || exit 1
  sleep 0.5
done
echo "Facilitator listening on :$PORT"
wait "$SERVICE"
