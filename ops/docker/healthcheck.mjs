// Container health check: exits with 0 when the address responds with 2xx within 2.5 s.
const [address] = process.argv.slice(2);
const response = await fetch(address, { signal: AbortSignal.timeout(2_500) }).catch(() => undefined);
process.exit(response?.ok ? 0 : 1);
