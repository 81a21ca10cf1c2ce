import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** The target is not a public host, or not https. Final: another try would find the same. */
export class RefusedTargetError extends Error {
  override readonly name = 'RefusedTargetError';
}

export type ResolveAll = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const resolveWithSystem: ResolveAll = (hostname, callback) => {
  systemLookup(hostname, { all: true, verbatim: true }, callback);
};

/**
 * A lookup for sockets that answers with public addresses only, and with none if the name has any other: the socket connects
 * to exactly what was checked, so a name that resolves differently the next time gains nothing.
 */
export function guardedLookup(resolve: ResolveAll = resolveWithSystem): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      if (error) {
        callback(error, '', 0);
        return;
      }
      const [first] = addresses;
      const refused = addresses.some(({ address }) => !isPublicAddress(address));
      if (!first || refused) {
        callback(new RefusedTargetError('the host does not resolve to public addresses only'), '', 0);
        return;
      }
      if (options.all) {
        callback(null, addresses);
        return;
      }
      callback(null, first.address, first.family);
    });
  };
}

/**
 * What can be said about a URL before connecting. Sockets skip the lookup for literal addresses, so those are checked here; the URL
 * parser has already turned decimal, octal and hexadecimal forms into plain ones. Throws RefusedTargetError.
 */
export function checkTarget(url: URL): void {
  if (url.protocol !== 'https:') {
    throw new RefusedTargetError('the target is not https');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublicAddress(host)) {
    throw new RefusedTargetError('the target is not a public address');
  }
}
