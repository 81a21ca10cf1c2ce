#!/usr/bin/env bash
# Everything Tollgate sells, with nothing but curl: chat, messages, an image, a video, and what they cost.
#   TOLLGATE_URL=http://127.0.0.1:8080 TOLLGATE_KEY=$(cat .data/owner.key) bash docs/examples/curl.sh
set -euo pipefail

url=${TOLLGATE_URL:-http://127.0.0.1:8080}
key=${TOLLGATE_KEY:?set it to an API key, as the second comment of this file does}
call() {
  local path=$1
  shift
  curl --silent --show-error --fail-with-body "$url$path" \
    --header "Authorization: Bearer $key" --header 'Content-Type: application/json' "$@"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

echo '# chat'
call /api/v1/chat/completions \
  --data '{"model":"tollgate/small","messages":[{"role":"user","content":"Say hello."}],"max_tokens":40}'
echo

echo '# messages'
call /vendorx/v1/messages \
  --data '{"model":"tollgate/small","messages":[{"role":"user","content":"Say hello."}],"max_tokens":40}'
echo

echo '# an image'
image=$(call /v3/async/image-turbo --data '{"prompt":"a lighthouse at dusk","size":"512*512","seed":7}' | field task_id)
call "/v3/async/task-result?task_id=$image" --header 'Prefer: wait=30'
echo

echo '# a video'
video=$(call /v3/async/video-fast \
  --data '{"model_name":"video-fast","prompt":"slow waves at night","width":1280,"height":720,"seed":7,"steps":4}' | field task_id)
until answer=$(call "/v3/async/task-result?task_id=$video" --header 'Prefer: wait=30') &&
  ! grep -q 'TASK_STATUS_QUEUED\|TASK_STATUS_PROCESSING' <<<"$answer"; do :; done
echo "$answer"

echo '# what is left'
call /api/v1/credits
echo
