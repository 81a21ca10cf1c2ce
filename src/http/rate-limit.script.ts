/**
 * The policy of rate-policy.ts as one Redis script, so that the check and the consumption on all dimensions are one
 * step over all replicas. Times are microseconds of Redis's own clock; TAT = the instant at which the debt is paid off.
 * KEYS: requests TAT, tokens TAT, calls in flight (sorted set by end of lease).
 * ARGV: cost of a request in µs, cost of the tokens in µs, window in µs, concurrency (0 = not counted), lease in µs,
 * call id. Answers {refused, requests debt, tokens debt, in flight, wait}.
 */
export const TAKE_SCRIPT = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local window = tonumber(ARGV[3])
local requests = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) - now
local tokens = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now) - now
local places = tonumber(ARGV[4])
local inflight = 0
if places > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  inflight = redis.call('ZCARD', KEYS[3])
end
local after_requests = requests + tonumber(ARGV[1])
local after_tokens = tokens + tonumber(ARGV[2])
if after_requests > window then
  return {1, requests, tokens, inflight, math.ceil(after_requests - window)}
end
if after_tokens > window then
  return {2, requests, tokens, inflight, math.ceil(after_tokens - window)}
end
if places > 0 and inflight >= places then
  return {3, requests, tokens, inflight, 1000000}
end
local function store(key, debt)
  redis.call('SET', key, string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1000)
end
store(KEYS[1], after_requests)
if tonumber(ARGV[2]) > 0 then store(KEYS[2], after_tokens) end
if places > 0 then
  redis.call('ZADD', KEYS[3], string.format('%.0f', now + tonumber(ARGV[5])), ARGV[6])
  redis.call('PEXPIRE', KEYS[3], math.ceil(tonumber(ARGV[5]) / 1000))
  inflight = inflight + 1
end
return {0, math.ceil(after_requests), math.ceil(after_tokens), inflight, 0}
`;

/** KEYS: tokens TAT, calls in flight. ARGV: call id, µs to add to the tokens' debt (may be negative). */
export const FINISH_SCRIPT = `
redis.call('ZREM', KEYS[2], ARGV[1])
local delta = tonumber(ARGV[2])
if delta ~= 0 then
  local t = redis.call('TIME')
  local now = t[1] * 1000000 + t[2]
  local debt = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) - now + delta
  if debt > 0 then
    redis.call('SET', KEYS[1], string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1000)
  else
    redis.call('DEL', KEYS[1])
  end
end
return 0
`;

/** KEYS: calls in flight. ARGV: call id, lease in µs. Prolongs a lease that still runs. */
export const RENEW_SCRIPT = `
local t = redis.call('TIME')
local ends = string.format('%.0f', t[1] * 1000000 + t[2] + tonumber(ARGV[2]))
redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[2]) / 1000))
return 0
`;
