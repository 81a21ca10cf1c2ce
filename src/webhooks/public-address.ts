import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The only IPv6 space that is globally routed today (RFC 4291); everything else is special or a way around. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an IP address in text form is a host of the public internet: not loopback, private, link-local, metadata, carrier-grade NAT,
 * multicast, reserved, and no IPv6 form that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo).
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
