import { hkdfSync } from 'node:crypto';

/** The token that workers with the secret of the installation show to the API's storage, unless another is configured. */
export function deriveStorageToken(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', 'tollgate storage token v1', 32)).toString('hex');
}
