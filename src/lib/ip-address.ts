import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The only IPv6 space that is globally routed today (RFC 4291). Everything else is special-purpose or could bypass the check. */
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

/** Thrown when a URL points to a host that is not on the public internet. Permanent: a retry would fail the same way. */
export class NotPublicError extends Error {
  override readonly name = 'NotPublicError';
}

/**
 * Returns whether an IP address in text form is a host on the public internet: not loopback, private, link-local, metadata, carrier-grade
 * NAT, multicast or reserved, and not an IPv6 form that embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo). Not the opposite
 * of {@link isPrivateAddress}: many addresses are neither.
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

/** Returns whether a peer's address belongs to this machine or a private network. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain !== '' && PRIVATE.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}

/**
 * Throws NotPublicError when the URL's host is an address that is not public. Sockets skip the lookup for literal addresses, so they are
 * checked here; the URL parser has already normalized decimal, octal and hexadecimal forms. Names are checked when {@link publicLookup}
 * resolves them.
 */
export function rejectPrivateLiteral(url: URL): void {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublicAddress(host)) {
    throw new NotPublicError('the host is not a public address');
  }
}

/** Names that resolve only on this machine or a private network (RFC 6761, 6762, 8375; `.internal` is reserved by ICANN). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/** Returns whether a URL's host can be on the public internet, judged by its form alone: names are not resolved. */
export function canBePublicHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  return isIP(host) !== 0 ? isPublicAddress(host) : host.includes('.') && !PRIVATE_NAME.test(host);
}

export type ResolveAll = (
  hostname: string,
  /** Called without addresses when there is an error. */
  callback: (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void,
) => void;

export interface PublicLookupOptions {
  /** Host that may resolve to any address because the operator configured it. */
  readonly exemptHost?: string | undefined;
  /** Resolver for tests; the system's by default. */
  readonly resolve?: ResolveAll | undefined;
}

const resolveWithSystem: ResolveAll = (hostname, callback) => {
  // Node's types claim that there are always addresses
  systemLookup(hostname, { all: true, verbatim: true }, callback);
};

/**
 * Returns a lookup for sockets that yields only public addresses and fails with NotPublicError if the name has any other. The socket
 * connects to exactly the addresses that were checked, which defeats DNS rebinding.
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
