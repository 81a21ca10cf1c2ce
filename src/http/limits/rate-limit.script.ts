/**
 * The policy of rate-policy.ts as one Redis script, so that the check and the consumption on all dimensions are one
 * step over all replicas. Times are microseconds of Redis's own clock; TAT = the instant at which the debt is paid off.
 * KEYS, first of the API key, then of its account: requests TAT, tokens TAT, calls in flight (sorted set by end of lease).
 * ARGV: window in µs, lease in µs, call id, then of the key and of the account: cost of a request in µs, cost of the tokens in µs,
 * concurrency (0 = not counted). Answers {refused, scope, wait, then of both: requests debt, tokens debt, in flight}.
 */
export const TAKE_SCRIPT = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local window, lease, call = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local debts = {}
local refused, scope, wait = 0, 2, 0
for one = 1, 2 do
  local key, arg = (one - 1) * 3, 3 + (one - 1) * 3
  local requests = math.max(tonumber(redis.call('GET', KEYS[key + 1]) or '0'), now) - now
  local tokens = math.max(tonumber(redis.call('GET', KEYS[key + 2]) or '0'), now) - now
  local places = tonumber(ARGV[arg + 3])
  local inflight = 0
  if places > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[key + 3], '-inf', now)
    inflight = redis.call('ZCARD', KEYS[key + 3])
  end
  debts[one] = {requests, tokens, inflight}
  if refused == 0 then
    local after_requests = requests + tonumber(ARGV[arg + 1])
    local after_tokens = tokens + tonumber(ARGV[arg + 2])
    if after_requests > window then
      refused, scope, wait = 1, one, math.ceil(after_requests - window)
    elseif after_tokens > window then
      refused, scope, wait = 2, one, math.ceil(after_tokens - window)
    elseif places > 0 and inflight >= places then
      refused, scope, wait = 3, one, 1000000
    end
  end
end
if refused == 0 then
  local function store(key, debt)
    redis.call('SET', key, string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1000)
  end
  for one = 1, 2 do
    local key, arg, debt = (one - 1) * 3, 3 + (one - 1) * 3, debts[one]
    debt[1] = math.ceil(debt[1] + tonumber(ARGV[arg + 1]))
    debt[2] = math.ceil(debt[2] + tonumber(ARGV[arg + 2]))
    store(KEYS[key + 1], debt[1])
    if tonumber(ARGV[arg + 2]) > 0 then store(KEYS[key + 2], debt[2]) end
    if tonumber(ARGV[arg + 3]) > 0 then
      redis.call('ZADD', KEYS[key + 3], string.format('%.0f', now + lease), call)
      redis.call('PEXPIRE', KEYS[key + 3], math.ceil(lease / 1000))
      debt[3] = debt[3] + 1
    end
  end
end
local key, account = debts[1], debts[2]
return {refused, scope, wait, key[1], key[2], key[3], account[1], account[2], account[3]}
`;

/** KEYS, of the key and of its account: tokens TAT, calls in flight. ARGV: call id, µs to add to the tokens' debt of each (may be negative). */
export const FINISH_SCRIPT = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
for one = 1, 2 do
  local tokens, calls = KEYS[one * 2 - 1], KEYS[one * 2]
  redis.call('ZREM', calls, ARGV[1])
  local delta = tonumber(ARGV[one + 1])
  if delta ~= 0 then
    local debt = math.max(tonumber(redis.call('GET', tokens) or '0'), now) - now + delta
    if debt > 0 then
      redis.call('SET', tokens, string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1000)
    else
      redis.call('DEL', tokens)
    end
  end
end
return 0
`;

/** KEYS: calls in flight of the key and of its account. ARGV: call id, lease in µs. Prolongs leases that still run. */
export const RENEW_SCRIPT = `
local t = redis.call('TIME')
local ends = string.format('%.0f', t[1] * 1000000 + t[2] + tonumber(ARGV[2]))
for one = 1, 2 do
  redis.call('ZADD', KEYS[one], 'XX', ends, ARGV[1])
  redis.call('PEXPIRE', KEYS[one], math.ceil(tonumber(ARGV[2]) / 1000))
end
return 0
`;
