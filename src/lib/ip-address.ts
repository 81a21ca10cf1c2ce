import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The only IPv6 space that is globally routed today (RFC 4291); everything else is special or a way around. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** This machine and private networks (RFC 1918, RFC 4193, IPv6 link-local). */
const PRIVATE = new BlockList();
PRIVATE.addSubnet('127.0.0.0', 8, 'ipv4');
PRIVATE.addSubnet('10.0.0.0', 8, 'ipv4');
PRIVATE.addSubnet('172.16.0.0', 12, 'ipv4');
PRIVATE.addSubnet('192.168.0.0', 16, 'ipv4');
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');

/** A URL leads to a host that is not on the public internet. Final: another try would find the same. */
export class NotPublicError extends Error {
  override readonly name = 'NotPublicError';
}

/**
 * Whether an IP address in text form is a host of the public internet: not loopback, private, link-local, metadata, carrier-grade NAT,
 * multicast, reserved, and no IPv6 form that carries an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo). Not the
 * opposite of {@link isPrivateAddress}: many addresses are neither.
 */
export function isPublicAddress(text: string): boolean {
  // Stricter than the library, which also takes the short forms of inet_aton.
  if (isIP(text) === 0) {
    return false;
  }
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv6) {
    if (address.isIPv4MappedAddress()) {
      return address.toIPv4Address().range() === 'unicast';
    }
    return address.range() === 'unicast' && address.match(GLOBAL_UNICAST_V6);
  }
  return address.range() === 'unicast';
}

/** Whether a peer's address belongs to this machine or a private network. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain !== '' && PRIVATE.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}

/**
 * Throws NotPublicError when the URL's host is an address that is not public. Sockets skip the lookup for literal addresses, so these
 * are checked before; the URL parser has already turned decimal, octal and hexadecimal forms into plain ones. Names are checked when
 * {@link publicLookup} resolves them.
 */
export function rejectPrivateLiteral(url: URL): void {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublicAddress(host)) {
    throw new NotPublicError('the host is not a public address');
  }
}

/** Names that only this machine or a private network resolves (RFC 6761, 6762, 8375; `.internal` is reserved by ICANN). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/** Whether a URL's host can be on the public internet, by its form alone: what a name resolves to is not asked. */
export function canBePublicHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  return isIP(host) !== 0 ? isPublicAddress(host) : host.includes('.') && !PRIVATE_NAME.test(host);
}

export type ResolveAll = (
  hostname: string,
  /** Without addresses when there is an error. */
  callback: (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void,
) => void;

export interface PublicLookupOptions {
  /** Resolved as it is: the operator named it. */
  readonly exemptHost?: string | undefined;
  /** The system's resolver unless a test brings its own. */
  readonly resolve?: ResolveAll | undefined;
}

const resolveWithSystem: ResolveAll = (hostname, callback) => {
  // typed as if there were always addresses
  systemLookup(hostname, { all: true, verbatim: true }, callback);
};

/**
 * A lookup for sockets that answers with public addresses only, and fails with NotPublicError if the name has any other: the socket
 * connects to exactly what was checked, so a name that resolves differently the next time gains nothing.
 */
export function publicLookup(options: PublicLookupOptions = {}): LookupFunction {
  const { exemptHost, resolve = resolveWithSystem } = options;
  return (hostname, { all }, callback) => {
    resolve(hostname, (error, addresses = []) => {
      const [first] = addresses;
      const isAllowed = hostname === exemptHost || addresses.every(({ address }) => isPublicAddress(address));
      if (error) {
        callback(error, '', 0);
      } else if (!first || !isAllowed) {
        callback(new NotPublicError('the host does not resolve to public addresses only'), '', 0);
      } else if (all) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
