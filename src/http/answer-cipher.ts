import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals what is stored of an answer, bound to the row it belongs to. */
export interface AnswerCipher {
  seal(plain: string, binding: string): Buffer;
  /** Undefined when the bytes were sealed under another secret or for another row. */
  open(sealed: Buffer, binding: string): string | undefined;
}

/** AES-256-GCM under a key derived (HKDF-SHA-256) from the installation's secret. Layout: nonce, tag, ciphertext. */
export function createAnswerCipher(installationSecret: string): AnswerCipher {
  const key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'tollgate idempotent answers', 32));
  return {
    seal(plain, binding) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(binding));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    open(sealed, binding) {
      try {
        const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
          .setAAD(Buffer.from(binding))
          .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const text = [decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
        return Buffer.concat(text).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
