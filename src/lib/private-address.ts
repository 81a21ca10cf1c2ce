import { BlockList } from 'node:net';

const PRIVATE = new BlockList();
PRIVATE.addSubnet('127.0.0.0', 8, 'ipv4');
PRIVATE.addSubnet('10.0.0.0', 8, 'ipv4');
PRIVATE.addSubnet('172.16.0.0', 12, 'ipv4');
PRIVATE.addSubnet('192.168.0.0', 16, 'ipv4');
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');

/** Whether a peer's address belongs to this machine or a private network. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain !== '' && PRIVATE.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}
