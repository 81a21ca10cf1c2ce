import { expect, it } from '@jest/globals';
import { TRUST_OWN_CA, tlsAdvice, tlsRefusal } from './tls-refusal.ts';

const failed = (code: string) => Object.assign(new Error(`${code} happened\nand more`), { code });

it.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', TRUST_OWN_CA],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', TRUST_OWN_CA],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'connect by a name that is in the certificate'],
  ['CERT_HAS_EXPIRED', 'renew the certificate, or correct the clock of this host'],
])('%s gets the advice that solves it', (code, advice) => {
  expect(tlsRefusal(failed(code))).toBe(`${code} happened`);
  expect(tlsAdvice(failed(code), TRUST_OWN_CA)).toBe(advice);
});

it('takes other failures for what they are', () => {
  expect(tlsRefusal(failed('ECONNREFUSED'))).toBeUndefined();
});
