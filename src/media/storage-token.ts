import { hkdfSync } from 'node:crypto';

/**
 * Derives the token with which workers that have the installation's secret authenticate to the API's storage, unless another is configured.
 */
export function deriveStorageToken(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', 'tollgate storage token v1', 32)).toString('hex');
}
