import { createHmac } from 'node:crypto';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { CallSigner } from '../call-signer.ts';
import { UpstreamHttp, type UpstreamHttpSettings } from '../upstream-http.ts';
import { AwsSigner } from './aws-signer.ts';
import { tokenMaker } from './json-web-token.ts';
import { OAuthTokens } from './oauth-tokens.ts';
import type { SignatureSettings } from './signature-settings.ts';

/** What signs the calls of an entry; undefined where nothing does. `http`: the entry's connections, whose clocks a token server gets, too. */
export function createSigner(
  signature: SignatureSettings | undefined,
  http: UpstreamHttpSettings,
  clock: Clock = systemClock,
): CallSigner | undefined {
  switch (signature?.kind) {
    case undefined:
      return undefined;
    case 'hmac': {
      const { header, prefix, secret } = signature;
      return {
        sign: async ({ body }) => ({
          [header]: prefix + createHmac('sha256', secret).update(body).digest('hex'),
        }),
      };
    }
    case 'jwt': {
      const makeToken = tokenMaker(signature);
      return {
        sign: async () => ({ authorization: `Bearer ${makeToken(Math.floor(clock.now() / 1_000))}` }),
      };
    }
    case 'aws':
      return new AwsSigner(signature, clock);
    case 'oauth': {
      const { origin: baseUrl } = new URL(signature.token_url);
      const headers = { accept: 'application/json' };
      const tokenServer = new UpstreamHttp({ ...http, baseUrl, headers, query: {}, signer: undefined });
      return new OAuthTokens(signature, tokenServer, clock);
    }
  }
}
