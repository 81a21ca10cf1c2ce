/** Node's codes for what TLS holds against the other side: its certificate, the name in it, or that it speaks no TLS. */
const REFUSED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|EPROTO|ERR_SSL/;

/** Why a TLS connection could not be made, in one line; undefined for any other error. */
export function tlsRefusal(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'string' && REFUSED.test(code) ? String(message).split('\n', 1)[0] : undefined;
}
