import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts stored answers, each bound to the row it belongs to. */
export interface AnswerCipher {
  seal(plain: string, binding: string): Buffer;
  /** Returns undefined when the bytes were sealed with another secret or for another row. */
  open(sealed: Buffer, binding: string): string | undefined;
}

/**
 * Creates a cipher that uses AES-256-GCM with a key derived (HKDF-SHA-256) from the installation's secret. Layout: nonce, tag,
 * ciphertext. Bytes sealed with a previous secret can still be opened.
 */
export function createAnswerCipher(
  installationSecret: string,
  previousSecrets: readonly string[] = [],
): AnswerCipher {
  const key = deriveKey(installationSecret);
  const keys = [key, ...previousSecrets.map(deriveKey)];
  return {
    seal(plain, binding) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(binding));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    open(sealed, binding) {
      for (const candidate of keys) {
        const plain = openWith(candidate, sealed, binding);
        if (plain !== undefined) {
          return plain;
        }
      }
      return undefined;
    },
  };
}

function deriveKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'tollgate idempotent answers', 32));
}

function openWith(key: Buffer, sealed: Buffer, binding: string): string | undefined {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(binding))
      .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = [decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch {
    return undefined;
  }
}
