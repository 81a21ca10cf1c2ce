/** What is counted of a client's address: an IPv6 client owns a /64 at least. */
export function clientNetwork(address: string): string {
  return address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
}
