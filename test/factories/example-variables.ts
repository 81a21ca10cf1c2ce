import { generateKeyPairSync } from 'node:crypto';

/** The value of every variable of an example, except private keys. */
export const EXAMPLE_SECRET = 'sk-service';

/** Private key of a service account, in PEM. */
export const EXAMPLE_PRIVATE_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

/** Values for every variable that the examples use. */
export const EXAMPLE_VARIABLES = new Proxy(
  {},
  {
    get: (_, name) => exampleOf(String(name)),
    has: () => true,
  },
) as Record<string, string>;

function exampleOf(name: string): string | undefined {
  if (name.endsWith('_FILE')) {
    return undefined;
  }
  return name.endsWith('PRIVATE_KEY') ? EXAMPLE_PRIVATE_KEY : EXAMPLE_SECRET;
}
