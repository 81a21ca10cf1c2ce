import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An output URL that leads into a private network. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
}

/** Whether an IP address (v4, v6, mapped) can be reached by everybody: no loopback, private, link-local or reserved range. */
export function isPublicAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

/** True for a URL whose host is an address that is not public. Names are judged when they are resolved. */
export function namesPrivateAddress(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(host) && !isPublicAddress(host);
}

/**
 * A resolver for connections that hands out public addresses only, so that what was checked is what is connected to. `exemptHost` is
 * resolved as it is: the operator named it.
 */
export function publicLookup(exemptHost: string): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      const found = error ? [] : addresses;
      const allowed =
        hostname === exemptHost ? found : found.filter(({ address }) => isPublicAddress(address));
      const [first] = allowed;
      if (!first) {
        callback(error ?? new RefusedAddressError('not a public address'), '', 0);
      } else if (options.all) {
        callback(null, allowed);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
