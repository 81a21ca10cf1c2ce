/**
 * The policy of rate-policy.ts as one Redis script for a batch of calls of one API key: first what the process has decided by itself since
 * its last batch, then the calls that ask, in the given order, each decided as if it were alone. Checking and consuming all dimensions is
 * one atomic step across all replicas. Times are microseconds of Redis's own clock; TAT = the instant at which the debt is paid off.
 * KEYS, first of the API key, then of its account: requests TAT, tokens TAT, calls in flight (sorted set by end of lease).
 * ARGV: window in µs, lease in µs; for the key and for the account: µs to add to the requests debt and to the tokens debt (this may be
 * negative); the number of calls that have ended and their ids; the number of calls that have begun and their ids; for each call that asks
 * its id, then for the key and for the account: cost of a request in µs, cost of the tokens in µs, concurrency (0 = not counted).
 * Returns for the key and for the account: requests debt, tokens debt, in flight; then for each call that asks: refused, scope, wait, and
 * the same six numbers as they were after its decision.
 */
export const BATCH_SCRIPT = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local window, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local at = 7
local function ids()
  local last = at + tonumber(ARGV[at])
  local found = {unpack(ARGV, at + 1, last)}
  at = last + 1
  return found
end
local ended, begun = ids(), ids()
local function debt(key)
  return math.max(tonumber(redis.call('GET', key) or '0'), now) - now
end
local ends = string.format('%.0f', now + lease)
local scopes = {}
for one = 1, 2 do
  local key = (one - 1) * 3
  local requests, tokens = tonumber(ARGV[one * 2 + 1]), tonumber(ARGV[one * 2 + 2])
  local scope = {
    requests = math.ceil(debt(KEYS[key + 1]) + requests), tokens = math.max(0, math.ceil(debt(KEYS[key + 2]) + tokens)),
    requests_key = KEYS[key + 1], tokens_key = KEYS[key + 2], calls_key = KEYS[key + 3],
    requested = requests > 0, tokens_changed = tokens ~= 0, began = {}
  }
  if #ended > 0 then redis.call('ZREM', scope.calls_key, unpack(ended)) end
  redis.call('ZREMRANGEBYSCORE', scope.calls_key, '-inf', now)
  scope.in_flight = redis.call('ZCARD', scope.calls_key) + #begun
  for _, id in ipairs(begun) do
    scope.began[#scope.began + 1] = ends
    scope.began[#scope.began + 1] = id
  end
  scopes[one] = scope
end
local answers = {0, 0, 0, 0, 0, 0}
while at <= #ARGV do
  local refused, of, wait = 0, 2, 0
  for one = 1, 2 do
    local scope, arg = scopes[one], at + (one - 1) * 3
    local places = tonumber(ARGV[arg + 3])
    if refused == 0 then
      local after_requests = scope.requests + tonumber(ARGV[arg + 1])
      local after_tokens = scope.tokens + tonumber(ARGV[arg + 2])
      if after_requests > window then
        refused, of, wait = 1, one, math.ceil(after_requests - window)
      elseif after_tokens > window then
        refused, of, wait = 2, one, math.ceil(after_tokens - window)
      elseif places > 0 and scope.in_flight >= places then
        refused, of, wait = 3, one, 1000000
      end
    end
  end
  for _, value in ipairs({refused, of, wait}) do answers[#answers + 1] = value end
  for one = 1, 2 do
    local scope, arg = scopes[one], at + (one - 1) * 3
    if refused == 0 then
      scope.requests = math.ceil(scope.requests + tonumber(ARGV[arg + 1]))
      scope.requested = true
      if tonumber(ARGV[arg + 2]) > 0 then
        scope.tokens = math.ceil(scope.tokens + tonumber(ARGV[arg + 2]))
        scope.tokens_changed = true
      end
      if tonumber(ARGV[arg + 3]) > 0 then
        scope.in_flight = scope.in_flight + 1
        scope.began[#scope.began + 1] = ends
        scope.began[#scope.began + 1] = ARGV[at]
      end
    end
    for _, value in ipairs({scope.requests, scope.tokens, scope.in_flight}) do
      answers[#answers + 1] = value
    end
  end
  at = at + 7
end
local function store(key, left)
  if left > 0 then
    redis.call('SET', key, string.format('%.0f', now + left), 'PX', math.ceil(left / 1000) + 1000)
  else
    redis.call('DEL', key)
  end
end
for one = 1, 2 do
  local scope, answer = scopes[one], (one - 1) * 3
  answers[answer + 1], answers[answer + 2], answers[answer + 3] = scope.requests, scope.tokens, scope.in_flight
  if scope.requested then store(scope.requests_key, scope.requests) end
  if scope.tokens_changed then store(scope.tokens_key, scope.tokens) end
  if #scope.began > 0 then
    redis.call('ZADD', scope.calls_key, unpack(scope.began))
    redis.call('PEXPIRE', scope.calls_key, math.ceil(lease / 1000))
  end
end
return answers
`;

/** KEYS: calls in flight of the key and of its account. ARGV: call id, lease in µs. Extends leases that have not ended. */
export const RENEW_SCRIPT = `
local t = redis.call('TIME')
local ends = string.format('%.0f', t[1] * 1000000 + t[2] + tonumber(ARGV[2]))
for one = 1, 2 do
  redis.call('ZADD', KEYS[one], 'XX', ends, ARGV[1])
  redis.call('PEXPIRE', KEYS[one], math.ceil(tonumber(ARGV[2]) / 1000))
end
return 0
`;
