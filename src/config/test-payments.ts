import { ConfigError } from './config-error.ts';

/** What decides whether somebody other than the person at this machine can reach the payment page. */
export interface Reachability {
  readonly host: string;
  /** As given or made of host and port. */
  readonly publicUrl: string;
  readonly listenSocket: string | null;
  /** Proxies in front. */
  readonly trustedProxies: number;
  readonly production: boolean;
}

/**
 * Whether credits may be had on the test page, which takes no money: by default where only this machine can reach it, elsewhere when
 * TEST_PAYMENTS says `allow`. Throws ConfigError for `allow` in production, where credits are worth money.
 */
export function allowsTestPayments(choice: 'allow' | 'refuse' | undefined, where: Reachability): boolean {
  if (where.production) {
    if (choice === 'allow') {
      throw new ConfigError('TEST_PAYMENTS must not be allow while NODE_ENV is production: set up Stripe');
    }
    return false;
  }
  if (choice !== undefined) {
    return choice === 'allow';
  }
  const { host, publicUrl, listenSocket, trustedProxies } = where;
  const isBehindProxy = listenSocket !== null || trustedProxies > 0;
  return isLoopback(host) && isLoopback(new URL(publicUrl).hostname) && !isBehindProxy;
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
