/** Node's codes for TLS failures of the peer: its certificate, the name in it, or that it does not speak TLS. */
const REFUSED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|EPROTO|ERR_SSL/;

/** Returns why a TLS connection failed, in one line; undefined for any other error. */
export function tlsRefusal(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'string' && REFUSED.test(code) ? String(message).split('\n', 1)[0] : undefined;
}
