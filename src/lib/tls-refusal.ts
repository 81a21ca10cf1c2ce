/** Node's codes for TLS failures of the peer: its certificate, the name in it, or that it does not speak TLS. */
const REFUSED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|EPROTO|ERR_SSL/;

/** Returns why a TLS connection failed, in one line; undefined for any other error. */
export function tlsRefusal(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'string' && REFUSED.test(code) ? String(message).split('\n', 1)[0] : undefined;
}

/** How most connections are told of a CA of one's own. */
export const TRUST_OWN_CA = 'for a CA of your own set NODE_EXTRA_CA_CERTS=/path/to/ca.pem';

/** Codes of a certificate that was read and is not valid here, whoever signed it. */
const WRONG_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';
const OUT_OF_DATE: ReadonlySet<unknown> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Says what to do about a TLS connection that failed. `trustOwnCa`: how this connection is told of a CA of one's own. */
export function tlsAdvice(error: unknown, trustOwnCa: string): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === WRONG_NAME) {
    return 'connect by a name that is in the certificate';
  }
  return OUT_OF_DATE.has(code) ? 'renew the certificate, or correct the clock of this host' : trustOwnCa;
}
