import { NotPublicError } from '../lib/ip-address.ts';
import { CallTimeouts } from './call-timeouts.ts';
import { TransportError, transportErrorOf } from './transport-error.ts';

const coded = (code: string, message = 'connect failed') => Object.assign(new Error(message), { code });

test.each([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])('%s means that nothing was sent', (code) => {
  expect(transportErrorOf(coded(code))).toMatchObject({ reason: 'unreachable', sent: false, code });
});

test.each(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_ABORTED'])(
  'after %s it is unknown what the other side has done',
  (code) => {
    expect(transportErrorOf(coded(code))).toMatchObject({ reason: 'interrupted', sent: true });
  },
);

test('attempts to several addresses count as never sent only if all of them failed to connect', () => {
  const tries = (...codes: string[]) => new AggregateError(codes.map((code) => coded(code)));
  expect(transportErrorOf(tries('ECONNREFUSED', 'ENETUNREACH')).sent).toBe(false);
  expect(transportErrorOf(tries('ECONNREFUSED', 'ECONNRESET')).sent).toBe(true);
});

test('nothing is sent to a private address', () => {
  expect(transportErrorOf(new NotPublicError('private')).sent).toBe(false);
});

test('its words are the first line of the system error', () => {
  expect(transportErrorOf(coded('ECONNREFUSED', 'refused\nprompt')).words).toBe('refused');
  expect(transportErrorOf(coded('ECONNREFUSED', '')).words).toBe('ECONNREFUSED');
  expect(new TransportError('timeout', { sent: true }).words).toBe('');
});

test('a failure after a timeout is a timeout; after the caller left, it is the reason of the caller', async () => {
  const late = new CallTimeouts(1);
  await new Promise((resolve) => late.signal.addEventListener('abort', () => resolve(undefined)));
  expect(late.explain(coded('UND_ERR_ABORTED'))).toMatchObject({ reason: 'timeout', sent: true });
  late.stop();
  const caller = new AbortController();
  const left = new CallTimeouts(60_000, caller.signal);
  const reason = new Error('the caller has left');
  caller.abort(reason);
  expect(left.signal.aborted).toBe(true);
  expect(left.explain(coded('UND_ERR_ABORTED'))).toBe(reason);
  left.stop();
});

test('a call may continue for its grace period after the caller left', () => {
  const caller = new AbortController();
  const clocks = new CallTimeouts(60_000, caller.signal, 60_000);
  caller.abort();
  expect(clocks.signal.aborted).toBe(false);
  clocks.stop();
});
