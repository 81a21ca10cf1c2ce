/** Returns the part of a client's address that limits count by: an IPv6 client owns at least a /64. */
export function clientNetwork(address: string): string {
  return address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
}
